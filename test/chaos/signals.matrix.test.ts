import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { agentRunSignals } from '../../workflows/contracts/runs/agent-run.ts';
import { workflowIds } from '../../workflows/contracts/queues.ts';
import { callsTurn, fakeRuns, gateState, writeCall } from '../fakes/run-activities.ts';
import { testNamespace, until, type TestNamespace } from '../support/temporal.ts';
import { startAgentRun, startTestWorker } from '../support/worker.ts';
import { flood } from '../workflows/signal-flood.ts';

const fakes = fakeRuns();
let place: TestNamespace;

beforeAll(async () => {
  place = await testNamespace();
});

afterAll(() => place.close());

test('500 signals across 20 new histories: every message is read once', async () => {
  const worker = await startTestWorker(place, fakes.activities);

  const { reads, begins, models } = await flood(place, fakes, { messages: 500, histories: 20 });
  await worker.stop();

  expect(reads).toEqual(reads.map(() => 1));
  expect(begins).toBeGreaterThanOrEqual(21);
  expect(models).toEqual(models.map((_entry, index) => `model ${index + 1}`));
});

test('a wait that is woken without end goes on in a new history, with its question still open and answered once', async () => {
  const worker = await startTestWorker(place, fakes.activities);
  const runId = randomUUID();
  const gated = writeCall('gated', { gate: true });
  let isApproved = false;
  const record = fakes.script(runId, {
    turns: [callsTurn(gated)],
    gates: () => (isApproved ? gateState(0, { ready: [gated] }) : gateState(1)),
  });
  const handle = place.temporal.client.workflow.getHandle(workflowIds.run(runId));
  const begins = () => record.entries.filter((entry) => entry === 'begin').length;

  await startAgentRun(place, runId);
  while (begins() < 2) {
    const looks = record.looks.length;
    await handle.signal(agentRunSignals.budgetChanged);
    await until(() => record.looks.length > looks, 120_000);
  }
  isApproved = true;
  await handle.signal(agentRunSignals.approvalDecided);
  await handle.result();
  await worker.stop();

  expect(record.entries.filter((entry) => entry.startsWith('model'))).toEqual(['model 1', 'model 1', 'model 2']);
  expect(record.entries.filter((entry) => entry.startsWith('tool'))).toEqual(['tool gated']);
  expect(record.looks.filter(({ how }) => how === 'open')).toHaveLength(2);
  expect(record.looks.length).toBeLessThan(1000);
});
