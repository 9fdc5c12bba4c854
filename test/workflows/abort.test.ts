import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { openAbort, type AbortCause } from '../../activities/support/abort.ts';
import type { CancelBus } from '../../db/streams/cancel-bus.ts';
import type { CallModelResult } from '../../workflows/contracts/runs/agent-run.ts';
import { workflowIds } from '../../workflows/contracts/queues.ts';
import { fakeRuns } from '../fakes/run-activities.ts';
import { testNamespace, until, type TestNamespace } from '../support/temporal.ts';
import { startAgentRun, startTestWorker } from '../support/worker.ts';

const fakes = fakeRuns();
const listeners = new Set<(runId: string) => void>();
// The Redis behind the real one plays no part here.
const bus: CancelBus = {
  onCancelled: (listener) => {
    listeners.add(listener);
    return () => void listeners.delete(listener);
  },
  onRevoked: () => () => undefined,
  close: () => Promise.resolve(),
};
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

test('a notice ends the run as cancelled before Temporal says a word', async () => {
  const runId = randomUUID();
  const causes: (AbortCause | null)[] = [];
  const record = fakes.script(runId, { turns: [() => untilAborted(runId, causes)] });
  await startAgentRun(place, runId);
  await until(() => listeners.size === 1);

  for (const listener of listeners) listener(randomUUID());
  for (const listener of listeners) listener(runId);
  await place.temporal.client.workflow.getHandle(workflowIds.run(runId)).result();

  expect(causes).toEqual(['cancelled']);
  expect(record.entries).toEqual(['begin', 'model 1', 'finish cancelled']);
  expect(listeners.size).toBe(0);
});

test('a stopping worker hands its model call on to the next one', async () => {
  const runId = randomUUID();
  const causes: (AbortCause | null)[] = [];
  let tries = 0;
  const record = fakes.script(runId, {
    turns: [() => (++tries === 1 ? untilAborted(runId, causes) : Promise.resolve({ outcome: 'final' }))],
  });
  await startAgentRun(place, runId);
  await until(() => listeners.size === 1);

  await worker.stop();
  worker = await startTestWorker(place, fakes.activities);
  await place.temporal.client.workflow.getHandle(workflowIds.run(runId)).result();

  expect(causes).toEqual(['shutdown']);
  expect(record.entries).toEqual(['begin', 'model 1', 'model 1', 'finish stop']);
});

test('a writer that was fenced or saw the cancel stops the activity too', async () => {
  const runId = randomUUID();
  const causes: (AbortCause | null)[] = [];
  const writer = new AbortController();
  const record = fakes.script(runId, { turns: [() => untilAborted(runId, causes, writer.signal)] });
  await startAgentRun(place, runId);
  await until(() => listeners.size === 1);

  writer.abort('cancelled');
  await place.temporal.client.workflow.getHandle(workflowIds.run(runId)).result();

  expect(causes).toEqual(['cancelled']);
  expect(record.entries).toEqual(['begin', 'model 1', 'finish cancelled']);
});

async function untilAborted(runId: string, causes: (AbortCause | null)[], writer?: AbortSignal): Promise<CallModelResult> {
  const abort = openAbort({ runId, cancelBus: bus, ...(writer ? { signals: [writer] } : {}) });

  try {
    await new Promise((resolve) => abort.signal.addEventListener('abort', resolve, { once: true }));
    causes.push(abort.cause());
    throw abort.signal.reason;
  } finally {
    abort.close();
  }
}
