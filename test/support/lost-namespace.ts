// A process of its own, since such a worker never lets its connection go: its namespace goes while an activity is at work that does not end. Prints
// how the worker ended, with its state and the activities that were still at work.
import { randomUUID } from 'node:crypto';
import { runToEnd } from '../../workers/run-to-end.ts';
import { callsTurn, fakeRuns, readCall } from '../fakes/run-activities.ts';
import { testNamespace, until } from './temporal.ts';
import { createTestWorker, startAgentRun } from './worker.ts';

const fakes = fakeRuns();
const place = await testNamespace();
const { worker } = await createTestWorker(place, fakes.activities);
const runId = randomUUID();
const record = fakes.script(runId, { turns: [callsTurn(readCall('deaf'))], tool: () => fakes.deaf() });
const ended = runToEnd(worker, { signal: new AbortController().signal, graceMs: 2_000 }).then(
  () => 'drained',
  (error: unknown) => String(error),
);
await startAgentRun(place, runId);
await until(() => record.toolsNow === 1);

await place.temporal.connection.operatorService.deleteNamespace({ namespace: place.namespace });

// Polls are taken for a minute more, in which the namespace may come back.
const how = await ended;
process.stdout.write(JSON.stringify({ how, state: worker.getState(), atWork: record.toolsNow }), () => process.exit());
