import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { agentRunSignals } from '../../workflows/contracts/runs/agent-run.ts';
import { workflowIds } from '../../workflows/contracts/queues.ts';
import { fakeRuns } from '../fakes/run-activities.ts';
import { testNamespace, until, type TestNamespace } from '../support/temporal.ts';
import { startAgentRun, startForgetfulWorker } from '../support/worker.ts';
import { ModelledRun, type ModelledCall } from './waits-model.ts';

const fakes = fakeRuns();
let place: TestNamespace;
let worker: { stop(): Promise<void> };

beforeAll(async () => {
  place = await testNamespace();
  worker = await startForgetfulWorker(place, fakes.activities);
});

afterAll(async () => {
  await worker.stop();
  await place.close();
});

const modelledCall: fc.Arbitrary<ModelledCall> = fc.record({
  kind: fc.constantFrom('free', 'gated', 'gated', 'client'),
  isRead: fc.boolean(),
  answer: fc.constantFrom('approve', 'approve', 'reject', 'none'),
  delivery: fc.constantFrom('once', 'twice', 'lost', 'late', 'early'),
  signal: fc.constantFrom(...(Object.keys(agentRunSignals) as (keyof typeof agentRunSignals)[])),
  isGatedLate: fc.boolean(),
});

const modelledRun = fc.record({
  calls: fc.array(modelledCall, { minLength: 1, maxLength: 5 }),
  /** In which order they are answered, and how long somebody thinks before each. */
  order: fc.infiniteStream(fc.nat({ max: 99 })),
  pauses: fc.infiniteStream(fc.nat({ max: 120 })),
});

type Play = typeof modelledRun extends fc.Arbitrary<infer Value> ? Value : never;

// How long the waits of a play take is drawn: six batches may need more than the usual limit.
test('signals that come late, twice, in another order, too early or never: each call is executed as was answered, once, and the run ends', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(modelledRun, { minLength: 6, maxLength: 6 }), async (plays) => {
      await Promise.all(plays.map(play));
    }),
    { numRuns: 6, endOnFailure: true },
  );
}, 1_200_000);

async function play({ calls, order, pauses }: Play): Promise<void> {
  const runId = randomUUID();
  const run = new ModelledRun(runId, calls);
  const record = fakes.script(runId, run.script());
  const handle = place.temporal.client.workflow.getHandle(workflowIds.run(runId));
  const late: string[] = [];
  let signals = 0;
  const send = async (signal: string) => {
    signals++;
    await handle.signal(signal).catch(() => undefined); // ended meanwhile
  };
  await startAgentRun(place, runId);

  const keys = calls.map((_call, index) => [order.next().value ?? 0, index] as const).toSorted(([one], [other]) => one - other);
  for (const [, index] of keys) {
    const call = run.calls[index];
    if (!call || call.modelled.answer === 'none') continue;
    await until(() => call.state !== 'recorded' && (call.state !== 'ready' || !call.modelled.isGatedLate));
    await delay(pauses.next().value ?? 0);
    const { delivery, signal } = call.modelled;
    if (delivery === 'early') await send(signal);
    if (!run.answer(call)) continue;
    if (delivery === 'late') late.push(signal);
    if (delivery === 'once' || delivery === 'twice') await send(signal);
    if (delivery === 'twice') await send(signal);
  }
  await delay(100);
  for (const signal of late) await send(signal);
  await handle.result();

  expect(run.violations).toEqual([]);
  expect(record.finishes.map(({ reason }) => reason)).toEqual(['stop']);
  for (const { modelled, state, executions } of run.calls) {
    expect([modelled, executions]).toEqual([modelled, state === 'done' && modelled.kind !== 'client' ? 1 : 0]);
  }
  // A look each time the question is put, at each signal, and as its questions expire; nobody looks in a circle.
  const asked = run.calls.filter(({ expiresAt }) => expiresAt > 0).length;
  expect(record.looks.length).toBeLessThanOrEqual(2 * asked + signals + 2);
}
