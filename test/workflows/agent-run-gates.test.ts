import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { agentRunSignals } from '../../workflows/contracts/runs/agent-run.ts';
import { workflowIds } from '../../workflows/contracts/queues.ts';
import {
  callsTurn,
  fakeRuns,
  gateState,
  noGates,
  readCall,
  untilCancelled,
  writeCall,
  type RunRecord,
  type RunScript,
} from '../fakes/run-activities.ts';
import { testNamespace, until, type TestNamespace } from '../support/temporal.ts';
import { startAgentRun, startTestWorker } from '../support/worker.ts';

const fakes = fakeRuns();
let place: TestNamespace;
let worker: { stop(): Promise<void> };

beforeAll(async () => {
  place = await testNamespace();
  worker = await startTestWorker(place, fakes.activities);
});

afterAll(async () => {
  fakes.release();
  await worker.stop();
  await place.close();
});

const gated = writeCall('gated', { gate: true });

test('a gated call waits for its answer, and is executed once it may be; calls without a gate do not wait for it', async () => {
  let isApproved = false;
  const { record, handle } = await start({
    turns: [callsTurn(gated, readCall('free'))],
    gates: () => (isApproved ? gateState(0, { ready: [gated] }) : gateState(1)),
  });

  await until(() => record.entries.includes('tool free') && record.looks.length === 1);
  expect(record.entries).not.toContain('tool gated');
  isApproved = true;
  await handle.signal(agentRunSignals.approvalDecided);
  await handle.result();

  expect(record.entries.toSorted()).toEqual(
    ['begin', 'model 1', 'tool free', 'open 1', 'settle 1', 'tool gated', 'model 2', 'finish stop'].toSorted(),
  );
  expect(record.entries.slice(-4)).toEqual(['settle 1', 'tool gated', 'model 2', 'finish stop']);
});

test.each(Object.values(agentRunSignals))('the signal %s makes a wait look at its rows', async (signal) => {
  const { record, handle } = await start({
    turns: [callsTurn(gated)],
    gates: ({ how }) => (how === 'settle' ? noGates : gateState(1)),
  });

  await until(() => record.looks.length === 1);
  await handle.signal(signal);
  await handle.result();

  expect(record.entries).toEqual(['begin', 'model 1', 'open 1', 'settle 1', 'model 2', 'finish stop']);
});

test('a signal that comes while the rows are read is not lost', async () => {
  let isApproved = false;
  const { record, handle } = await start({
    turns: [callsTurn(gated)],
    gates: async ({ runId, how }) => {
      if (how === 'settle') return isApproved ? noGates : gateState(1);
      const state = gateState(1); // read before the decision
      isApproved = true;
      await place.temporal.client.workflow.getHandle(workflowIds.run(runId)).signal(agentRunSignals.approvalDecided);
      return state;
    },
  });

  await handle.result();

  expect(record.looks.map(({ how }) => how)).toEqual(['open', 'settle']);
});

test('a call that is ready is executed once, however often it is given', async () => {
  const other = writeCall('other', { gate: true });
  const { record, handle } = await start({
    turns: [callsTurn(gated, other)],
    gates: ({ count }) => gateState(count < 4 ? 1 : 0, { ready: count < 2 ? [gated] : [gated, other] }),
  });

  for (const looks of [1, 2, 3]) {
    await until(() => record.looks.length === looks);
    await handle.signal(agentRunSignals.approvalDecided);
  }
  await handle.result();

  expect(record.entries.filter((entry) => entry.startsWith('tool'))).toEqual(['tool gated', 'tool other']);
});

test('calls that become ready together are executed as the model gave them: writes in its order, one at a time', async () => {
  const calls = ['a', 'b', 'c'].map((id) => writeCall(id, { gate: true }));
  const { record } = await runToEnd({
    turns: [callsTurn(...calls)],
    gates: () => gateState(0, { ready: calls.toReversed() }),
    tool: () => new Promise((resolve) => setTimeout(resolve, 20)),
  });

  expect(record.entries.filter((entry) => entry.startsWith('tool'))).toEqual(['tool a', 'tool b', 'tool c']);
  expect(record.toolsMost).toBe(1);
});

test('a wait whose answer does not come looks again when the first of its questions expires', async () => {
  const { record } = await runToEnd({
    turns: [callsTurn(gated)],
    gates: ({ how }) => (how === 'open' ? gateState(1, { nextMs: 400 }) : noGates),
  });

  expect(record.entries).toEqual(['begin', 'model 1', 'open 1', 'settle 1', 'model 2', 'finish stop']);
});

test("a client's call is not executed here; the run waits for its result", async () => {
  const call = readCall('theirs', { client: true });
  let isThere = false;
  const { record, handle } = await start({
    turns: [callsTurn(call)],
    gates: () => (isThere ? gateState(0, { ready: [call] }) : gateState(1)),
  });

  await until(() => record.looks.length === 1);
  isThere = true;
  await handle.signal(agentRunSignals.resultsAdded);
  await handle.result();

  expect(record.entries).toEqual(['begin', 'model 1', 'open 1', 'settle 1', 'model 2', 'finish stop']);
});

test('an answer that had to come ends the run with its reason, and what was executed beside it is stopped', async () => {
  const isAtWork = Promise.withResolvers<void>();
  const { record } = await runToEnd({
    turns: [callsTurn(gated, readCall('beside'))],
    tool: () => {
      isAtWork.resolve();
      return untilCancelled();
    },
    gates: () => isAtWork.promise.then(() => gateState(1, { ends: 'approval_expired' })),
  });

  expect(record.entries.slice(-2)).toEqual(['settle beside cancelled', 'finish approval_expired']);
  expect(record.entries).not.toContain('model 2');
});

test('a call that turns out to need an approval is asked for, then executed', async () => {
  let tries = 0;
  const { record } = await runToEnd({
    turns: [callsTurn(writeCall('w'))],
    tool: async () => ({ gated: ++tries === 1 }),
    gates: () => gateState(0, { ready: [writeCall('w')] }),
  });

  expect(record.entries).toEqual(['begin', 'model 1', 'tool w', 'open 1', 'tool w', 'model 2', 'finish stop']);
});

test('a question that comes up while another is open is put at once, beside it', async () => {
  const late = readCall('late');
  const { record, handle } = await start({
    turns: [callsTurn(gated, late)],
    tool: async (id) => {
      if (id !== 'late') return;
      await until(() => opens().length >= 1);
      return { gated: opens().length === 1 };
    },
    gates: ({ how }) => (how === 'open' ? gateState(opens().length) : gateState(0, { ready: [gated, late] })),
  });
  const opens = () => record.looks.filter(({ how }) => how === 'open');

  await until(() => opens().length === 2);
  await handle.signal(agentRunSignals.approvalDecided);
  await handle.result();

  const [first, ...others] = record.entries.filter((entry) => entry.startsWith('tool'));
  expect([first, ...others.toSorted()]).toEqual(['tool late', 'tool gated', 'tool late']);
});

test('what becomes of an interrupted critical write is asked, then done as was said', async () => {
  let tries = 0;
  const { record } = await runToEnd({
    turns: [callsTurn(writeCall('w'))],
    tool: () => (++tries === 1 ? Promise.reject(new Error('lost')) : Promise.resolve()),
    settle: () => ({ again: false, gated: true }),
    gates: () => gateState(0, { ready: [writeCall('w')] }),
  });

  expect(record.entries).toEqual(['begin', 'model 1', 'tool w', 'settle w lost', 'open 1', 'tool w', 'model 2', 'finish stop']);
});

test('cancelling a run that waits ends it at once', async () => {
  const { record, handle } = await start({ turns: [callsTurn(gated)], gates: () => gateState(1) });

  await until(() => record.looks.length === 1);
  await handle.cancel();
  await handle.result();

  expect(record.entries).toEqual(['begin', 'model 1', 'open 1', 'finish cancelled']);
});

test('an exclusive call is executed alone: not beside reads, and no read beside it', async () => {
  const beside: string[][] = [];
  const open = new Set<string>();
  const { record } = await runToEnd({
    turns: [callsTurn(readCall('r1'), writeCall('x', { concurrency: 'exclusive' }), readCall('r2'), writeCall('w'))],
    tool: async (id) => {
      open.add(id);
      await new Promise((resolve) => setTimeout(resolve, 50));
      beside.push([id, ...open]);
      open.delete(id);
    },
  });

  expect(beside.find(([id]) => id === 'x')).toEqual(['x', 'x']);
  expect(beside.filter(([id, ...all]) => id !== 'x' && all.includes('x'))).toEqual([]);
  expect(record.entries.filter((entry) => entry.startsWith('tool')).length).toBe(4);
});

async function start(script: RunScript) {
  const runId = randomUUID();
  const record = fakes.script(runId, script);

  await startAgentRun(place, runId);
  return { record, handle: place.temporal.client.workflow.getHandle(workflowIds.run(runId)) };
}

async function runToEnd(script: RunScript): Promise<{ record: RunRecord }> {
  const { record, handle } = await start(script);

  await handle.result();
  return { record };
}
