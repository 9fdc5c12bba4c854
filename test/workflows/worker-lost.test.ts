import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { runToEnd } from '../../workers/run-to-end.ts';
import { callsTurn, fakeRuns, readCall } from '../fakes/run-activities.ts';
import { testNamespace, until, type TestNamespace } from '../support/temporal.ts';
import { createTestWorker, startAgentRun } from '../support/worker.ts';

const fakes = fakeRuns();
let place: TestNamespace;

beforeAll(async () => {
  place = await testNamespace();
});

afterAll(async () => {
  fakes.release();
  await place.close();
});

test('a worker whose namespace is gone for good ends, though an activity of it does not', async () => {
  const { worker, connection } = await createTestWorker(place, fakes.activities);
  const runId = randomUUID();
  const record = fakes.script(runId, { turns: [callsTurn(readCall('deaf'))], tool: () => fakes.deaf() });
  const ended = runToEnd(worker, { signal: new AbortController().signal, graceMs: 2_000 });
  const outcome = ended.then(
    () => 'drained',
    (error: unknown) => String(error),
  );
  await startAgentRun(place, runId);
  await until(() => record.toolsNow === 1);

  await place.temporal.connection.operatorService.deleteNamespace({ namespace: place.namespace });

  // Polls are taken for a minute more, in which the namespace may come back.
  // Which of the two ways the SDK takes is up to its race.
  expect(await outcome).toMatch(/the worker polls no more|IllegalStateError/);
  expect([worker.getState(), record.toolsNow]).toEqual(['FAILED', 1]);
  fakes.release();
  await until(() =>
    connection.close().then(
      () => true,
      () => false,
    ),
  );
}, 300_000);
