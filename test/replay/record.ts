// Records the histories that replay.test.ts replays: `TEMPORAL_ADDRESS=… node test/replay/record.ts [name…]`.
// A changed loop needs a patch, not a new recording: histories are recorded once for each way a run can go, and kept.
import { randomUUID } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { historyToJSON } from '@temporalio/common/lib/proto-utils.js';
import { fail } from '../../workflows/contracts/failure.ts';
import { workflowIds } from '../../workflows/contracts/queues.ts';
import { callsTurn, fakeRuns, readCall, untilCancelled, writeCall, type RunScript } from '../fakes/run-activities.ts';
import { testNamespace, until, type TestNamespace } from '../support/temporal.ts';
import { startAgentRun, startTestWorker } from '../support/worker.ts';

interface Scenario extends RunScript {
  /** Cancels the run when this entry is on record. */
  readonly cancelAt?: string;
  /** Which execution of the chain is kept; the last by default. */
  readonly execution?: 'first';
}

const nothingToDo = callsTurn(readCall('settled', { isSettled: true }));
const fakes = fakeRuns();
let lostOnce = false;

const scenarios: Record<string, Scenario> = {
  'plain': {},
  'input': { finish: (_input, count) => ({ more: count === 1 }) },
  'tools': { turns: [callsTurn(readCall('a'), writeCall('b'), readCall('c'), writeCall('d')), callsTurn(readCall('e'))] },
  'tool-lost': {
    turns: [callsTurn(writeCall('a'))],
    tool: async () => {
      if (lostOnce) return;
      lostOnce = true;
      throw new Error('lost');
    },
    settle: () => ({ again: true }),
  },
  'cancel-model': { turns: [untilCancelled], cancelAt: 'model 1' },
  'cancel-tools': {
    turns: [callsTurn(readCall('a', { timeoutS: 1 }), writeCall('b', { timeoutS: 1 }), writeCall('c'))],
    tool: fakes.deaf,
    cancelAt: 'tool b',
  },
  'timeout': { begin: { remainingMs: 500 }, turns: [untilCancelled] },
  'max-steps': { begin: { maxSteps: 2 }, turns: [nothingToDo, nothingToDo] },
  'failure': { turns: [() => Promise.reject(fail('budget_exceeded'))] },
  'continue-as-new': { begin: { maxSteps: 500 }, turns: Array.from({ length: 101 }, () => nothingToDo), execution: 'first' },
  'continued': { begin: { maxSteps: 500 }, turns: Array.from({ length: 101 }, () => nothingToDo) },
};

const wanted = process.argv.slice(2);
const place = await testNamespace();
const worker = await startTestWorker(place, fakes.activities);
const folder = join(import.meta.dirname, 'histories');

await mkdir(folder, { recursive: true });
for (const [name, scenario] of Object.entries(scenarios)) {
  if (wanted.length === 0 || wanted.includes(name)) await writeFile(join(folder, `${name}.json`), await record(place, scenario));
}
fakes.release();
await worker.stop();
await place.close();

async function record({ temporal }: TestNamespace, scenario: Scenario): Promise<string> {
  const runId = randomUUID();
  const { entries } = fakes.script(runId, scenario);

  await startAgentRun(place, runId);
  const handle = temporal.client.workflow.getHandle(workflowIds.run(runId));
  const { runId: firstExecution } = await handle.describe();

  if (scenario.cancelAt) {
    await until(() => entries.includes(scenario.cancelAt ?? ''));
    await handle.cancel();
  }
  await handle.result();
  const kept = scenario.execution === 'first' ? temporal.client.workflow.getHandle(workflowIds.run(runId), firstExecution) : handle;

  return `${JSON.stringify(JSON.parse(historyToJSON(await kept.fetchHistory())))}\n`;
}
