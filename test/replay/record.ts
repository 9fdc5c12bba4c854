// Records the histories that replay.test.ts replays: `TEMPORAL_ADDRESS=… node test/replay/record.ts [name…]`.
// A changed loop needs a patch, not a new recording: histories are recorded once for each way a run can go, and kept.
// `exclusive-beside-others` can't be made any more: it was recorded before the patch `exclusive-alone`; nor can any other of a run without `local` in
// its name: they are of before the patch `local-bounds`.
import { randomUUID } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { historyToJSON } from '@temporalio/common/lib/proto-utils.js';
import { agentRunSignals, type CallModelResult, type OpenChildResult, type StepWait } from '../../workflows/contracts/runs/agent-run.ts';
import { fail } from '../../workflows/contracts/failure.ts';
import { workflowIds } from '../../workflows/contracts/queues.ts';
import {
  callsTurn,
  fakeRuns,
  gateState,
  noGates,
  readCall,
  untilCancelled,
  writeCall,
  type GateLook,
  type RunScript,
} from '../fakes/run-activities.ts';
import { testNamespace, until, type TestNamespace } from '../support/temporal.ts';
import { startAgentRun, startTestWorker } from '../support/worker.ts';

interface Scenario extends RunScript {
  /** Cancels the run when this entry is on record. */
  readonly cancelAt?: string;
  /** Cancels the run and its child when this entry is on the child's record. */
  readonly cancelAtChild?: string;
  /** Sends a signal when this entry is on record. */
  readonly signal?: { readonly at: string; readonly name: keyof typeof agentRunSignals };
  /** What the child of a delegate call does. */
  readonly childScript?: RunScript;
  /** Which execution of the chain is kept; the last by default. */
  readonly execution?: 'first';
}

const nothingToDo = callsTurn(readCall('settled', { isSettled: true }));
const fakes = fakeRuns();
const isSteered = Promise.withResolvers<void>();
const gated = writeCall('a', { gate: true });
const answered = ({ how }: GateLook) => (how === 'open' ? gateState(1) : gateState(0, { ready: [gated] }));
const oneWait = (wait: StepWait) => {
  let isOver = false;

  return async (): Promise<CallModelResult> => {
    if (isOver) return { outcome: 'final' };
    isOver = true;
    return { outcome: 'wait', wait };
  };
};
const children: { readonly runId: string; readonly entries: readonly string[] }[] = [];
let lostOnce = false;
let gatedOnce = false;

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
  'exclusive': { turns: [callsTurn(readCall('a'), writeCall('b', { concurrency: 'exclusive' }), readCall('c'), writeCall('d'))] },
  'approval': {
    turns: [callsTurn(gated, readCall('b'))],
    gates: answered,
    signal: { at: 'open 1', name: 'approvalDecided' },
  },
  'approval-expired': {
    turns: [callsTurn(gated, readCall('b'))],
    tool: untilCancelled,
    gates: ({ how }) => (how === 'open' ? gateState(1, { nextMs: 300 }) : gateState(0, { ends: 'approval_expired' })),
  },
  'gated-at-claim': {
    turns: [callsTurn(writeCall('a'))],
    tool: async () => {
      const isGated = !gatedOnce;
      gatedOnce = true;
      return { gated: isGated };
    },
    gates: () => gateState(0, { ready: [writeCall('a')] }),
  },
  'cancel-waiting': { turns: [callsTurn(gated)], gates: () => gateState(1), cancelAt: 'open 1' },
  'client': {
    turns: [callsTurn(readCall('a', { client: true }))],
    gates: ({ how }) => gateState(how === 'open' ? 1 : 0),
    signal: { at: 'open 1', name: 'resultsAdded' },
  },
  'child': { turns: [callsTurn(writeCall('a', { child: true }), readCall('b'))], childScript: { turns: [callsTurn(readCall('c'))] } },
  'cancel-child': {
    turns: [callsTurn(writeCall('a', { child: true }))],
    childScript: { turns: [untilCancelled] },
    cancelAtChild: 'model 1',
  },
  'budget': {
    turns: [oneWait({ on: 'budget', fullAt: 'day', needed: '0.1' })],
    gates: ({ how }) => gateState(how === 'open' ? 1 : 0),
    signal: { at: 'open budget 1', name: 'budgetChanged' },
  },
  'timer': {
    turns: [oneWait({ on: 'timer', untilMs: 0 })],
    gates: ({ how }) => (how === 'open' ? gateState(1, { nextMs: 1000 }) : noGates),
  },
  'steer': { turns: [untilSteered], signal: { at: 'model 1', name: 'inputAdded' }, finish: (_input, count) => ({ more: count === 1 }) },
  'waited-clock': {
    begin: (count) => ({ remainingMs: count < 3 ? 300 : 0, isWaiting: count === 2 }),
    turns: [callsTurn(gated), untilCancelled],
    gates: ({ how }) => (how === 'open' ? gateState(1, { nextMs: 700 }) : gateState(0, { ready: [gated] })),
  },
  'local': {},
  'local-input': { turns: [callsTurn(readCall('a'))], finish: (_input, count) => ({ more: count === 1 }) },
  'local-timeout': { begin: { remainingMs: 500 }, turns: [untilCancelled] },
  'local-cancelled': { turns: [untilCancelled], cancelAt: 'model 1' },
  'local-failure': { turns: [() => Promise.reject(fail('budget_exceeded'))] },
  'local-continued': { begin: { maxSteps: 500 }, turns: Array.from({ length: 101 }, () => nothingToDo) },
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
  children.length = 0;
  const { entries } = fakes.script(runId, {
    ...scenario,
    ...(scenario.childScript ? { child: () => openedChild(scenario.childScript) } : {}),
  });

  await startAgentRun(place, runId);
  const handle = temporal.client.workflow.getHandle(workflowIds.run(runId));
  const { runId: firstExecution } = await handle.describe();

  if (scenario.signal) {
    const { at, name } = scenario.signal;
    await until(() => entries.includes(at));
    await handle.signal(agentRunSignals[name]);
    isSteered.resolve();
  }
  if (scenario.cancelAt) {
    await until(() => entries.includes(scenario.cancelAt ?? ''));
    await handle.cancel();
  }
  if (scenario.cancelAtChild) {
    await until(() => children.some((child) => child.entries.includes(scenario.cancelAtChild ?? '')));
    for (const id of [runId, ...children.map((child) => child.runId)])
      await temporal.client.workflow.getHandle(workflowIds.run(id)).cancel();
  }
  await handle.result();
  const kept = scenario.execution === 'first' ? temporal.client.workflow.getHandle(workflowIds.run(runId), firstExecution) : handle;

  return `${JSON.stringify(JSON.parse(historyToJSON(await kept.fetchHistory())))}\n`;
}

function openedChild(script: RunScript = {}): OpenChildResult {
  const runId = randomUUID();

  const { entries } = fakes.script(runId, script);
  children.push({ runId, entries });
  return { child: { runId, agentId: randomUUID(), organizationId: randomUUID(), workspaceId: randomUUID() } };
}

async function untilSteered(): Promise<CallModelResult> {
  await isSteered.promise;
  return { outcome: 'final' };
}
