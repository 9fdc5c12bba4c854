import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { Context } from '@temporalio/activity';
import { openAbort, type AbortCause, type AbortSources } from '../../activities/support/abort.ts';
import { isGivenUp, isLost, refuseGivenUp, refuseStale } from '../../activities/support/stale-attempt.ts';
import { wasFrozenSince } from '../../activities/support/process-freeze.ts';
import type { CallModelResult } from '../../workflows/contracts/runs/agent-run.ts';
import { workflowIds } from '../../workflows/contracts/queues.ts';
import { fakeRuns } from '../fakes/run-activities.ts';
import { testNamespace, until, type TestNamespace } from '../support/temporal.ts';
import { startAgentRun, startTestWorker } from '../support/worker.ts';

const fakes = fakeRuns();
let place: TestNamespace;
let worker: { stop(): Promise<void> };

beforeEach(async () => {
  place = await testNamespace();
  worker = await startTestWorker(place, fakes.activities);
});

afterEach(async () => {
  await worker.stop();
  await place.close();
});

/** Runs `work` in the delivery of a model step, which Temporal gives up as soon as `giveUp` is called: another has answered. */
async function inDelivery(work: (giveUp: () => Promise<void>, runId: string) => Promise<void>): Promise<void> {
  const runId = randomUUID();
  const seen = Promise.withResolvers<void>();
  const turn = (): Promise<CallModelResult> => {
    const { taskToken } = Context.current().info;
    const giveUp = () => place.temporal.client.activity.complete(taskToken, { outcome: 'final' });
    return work(giveUp, runId)
      .then(seen.resolve, seen.reject)
      .then(() => ({ outcome: 'final' }));
  };
  fakes.script(runId, { turns: [turn] });
  await startAgentRun(place, runId);
  await seen.promise;
  await place.temporal.client.workflow.getHandle(workflowIds.run(runId)).result();
}

test('a delivery proves that Temporal waits for it, and one that was given up is refused', async () => {
  const answers: string[] = [];
  const ask = () =>
    refuseGivenUp().then(
      () => 'awaited',
      (error: { type: string }) => error.type,
    );

  await inDelivery(async (giveUp) => {
    answers.push(await ask());
    await giveUp();
    answers.push(await ask());
  });

  expect(answers).toEqual(['awaited', 'given_up']);
});

test('a delivery of a process that was frozen asks before it goes on, any other asks nothing', async () => {
  const answers: string[] = [];
  const ask = () =>
    refuseStale().then(
      () => 'goes on',
      (error: { type: string }) => error.type,
    );

  await inDelivery(async (giveUp) => {
    await ask();
    await giveUp();
    const before = performance.now();
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5_000);
    expect(wasFrozenSince(before)).toBe(true);
    answers.push(await ask());
  });

  expect(answers).toEqual(['given_up']);
});

test('what was given up is not cancelled: it may still count', async () => {
  const causes: (AbortCause | null)[] = [];

  await inDelivery(async (giveUp, runId) => {
    const abort = abortOf(runId);
    await giveUp();
    await untilGivenUp();
    causes.push(abort.cause());
    abort.close();
  });

  expect(causes).toEqual([null]);
});

test('what was given up ends after its time', async () => {
  const causes: (AbortCause | null)[] = [];

  await inDelivery(async (giveUp, runId) => {
    const abort = abortOf(runId, { unawaitedMs: 50 });
    await giveUp();
    await untilGivenUp();
    if (!abort.signal.aborted) await once(abort.signal, 'abort');
    causes.push(abort.cause());
    abort.close();
  });

  expect(causes).toEqual(['unawaited']);
});

test('what Temporal has lost does not end after that time: its run waits for it', async () => {
  const causes: (AbortCause | null)[] = [];
  const [runId, seen] = [randomUUID(), Promise.withResolvers<void>()];
  const turn = async (): Promise<CallModelResult> => {
    const abort = abortOf(runId, { unawaitedMs: 50 });
    const { client, info } = Context.current();
    const { namespace, workflowExecution } = info;
    await client.workflowService.deleteWorkflowExecution({ namespace, workflowExecution: workflowExecution ?? null });
    await until(() => isLost(Context.current()));
    await untilGivenUp();
    // In this time the abort asks often enough to have its answer, too.
    for (let asked = 0; asked < 30; asked++) expect(await isLost(Context.current())).toBe(true);
    causes.push(abort.cause());
    abort.close();
    return { outcome: 'final' };
  };
  fakes.script(runId, { turns: [() => turn().finally(seen.resolve)] });

  await startAgentRun(place, runId);
  await seen.promise;

  expect(causes).toEqual([null]);
});

function abortOf(runId: string, more: Pick<AbortSources, 'unawaitedMs'> = {}) {
  const cancelBus = { onCancelled: () => () => undefined, onRevoked: () => () => undefined, close: async () => undefined };
  return openAbort({ runId, cancelBus, ...more });
}

async function untilGivenUp(): Promise<void> {
  const context = Context.current();
  if (!context.cancellationSignal.aborted) await once(context.cancellationSignal, 'abort');
  expect(isGivenUp(context)).toBe(true);
}
