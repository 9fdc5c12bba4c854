import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { agentRunSignals, type AgentRunInput } from '../../workflows/contracts/runs/agent-run.ts';
import { workflowIds } from '../../workflows/contracts/queues.ts';
import {
  callsTurn,
  fakeRuns,
  gateState,
  noGates,
  untilCancelled,
  writeCall,
  type RunRecord,
  type RunScript,
} from '../fakes/run-activities.ts';
import { testNamespace, until, type TestNamespace } from '../support/temporal.ts';
import { startAgentRun, startTestWorker } from '../support/worker.ts';

const fakes = fakeRuns();
const final = { outcome: 'final' } as const;
const gated = writeCall('gated', { gate: true });
let place: TestNamespace;
let worker: { stop(): Promise<void> };

beforeAll(async () => {
  place = await testNamespace();
  worker = await startTestWorker(place, fakes.activities);
});

afterAll(async () => {
  await worker.stop();
  await place.close();
});

test('a step that the budget stops is taken again once the budget is written', async () => {
  const { record, handle } = await start({
    turns: [onceThenFinal({ outcome: 'wait', wait: { on: 'budget' } })],
    gates: ({ how }) => (how === 'open' ? gateState(1) : noGates),
  });

  await until(() => record.looks.length === 1);
  await handle.signal(agentRunSignals.budgetChanged);
  await handle.result();

  expect(record.entries).toEqual(['begin', 'model 1', 'open budget 1', 'settle budget 1', 'model 1', 'finish stop']);
});

test('what a wait is about is told to both of its activities as the model step said it', async () => {
  const wait = { on: 'budget', fullAt: 'month', needed: '0.25' } as const;
  const { record } = await runToEnd({
    turns: [onceThenFinal({ outcome: 'wait', wait })],
    gates: ({ how }) => (how === 'open' ? gateState(1, { nextMs: 300 }) : noGates),
  });

  expect(record.looks.map((look) => look.wait)).toEqual([wait, wait]);
});

test('a run that goes on elsewhere waits first for what it waited for, and then takes up its step', async () => {
  const wait = { on: 'budget', needed: '0.25' } as const;
  const script: RunScript = { gates: ({ how }) => (how === 'open' ? gateState(1) : noGates) };
  const { record, handle } = await start(script, { step: 3, wait });

  await until(() => record.looks.length === 1);
  await handle.signal(agentRunSignals.budgetChanged);
  await handle.result();

  expect(record.entries).toEqual(['begin', 'open budget 3', 'settle budget 3', 'model 3', 'finish stop']);
  expect(record.looks.map((look) => look.wait)).toEqual([wait, wait]);
});

test('a refused budget ends the run with that reason and its error', async () => {
  const { record } = await runToEnd({
    turns: [{ outcome: 'wait', wait: { on: 'budget' } }],
    gates: () => gateState(0, { ends: 'budget_exceeded' }),
  });

  expect(record.finishes).toEqual([
    expect.objectContaining({ reason: 'budget_exceeded', error: expect.objectContaining({ code: 'budget_exceeded' }) }),
  ]);
});

test('a budget that is used up by others again and again is asked for ever more slowly', async () => {
  let asked = 0;
  const startedAt = Date.now();
  const { record } = await runToEnd({
    turns: [async () => (++asked < 4 ? { outcome: 'wait', wait: { on: 'budget' } } : final)],
  });

  expect(Date.now() - startedAt).toBeGreaterThanOrEqual(3000); // 1 s, 2 s
  expect(record.entries.filter((entry) => entry === 'model 1')).toHaveLength(4);
});

test('no signal shortens the pause that a provider has asked for', async () => {
  const untilMs = Date.now() + 1500;
  const { record, handle } = await start({
    turns: [onceThenFinal({ outcome: 'wait', wait: { on: 'timer', untilMs } })],
    gates: () => gateState(Date.now() < untilMs ? 1 : 0, { nextMs: Math.max(0, untilMs - Date.now()) }),
  });

  await until(() => record.looks.length === 1);
  for (const signal of Object.values(agentRunSignals)) await handle.signal(signal);
  await handle.result();

  expect(Date.now()).toBeGreaterThanOrEqual(untilMs);
  expect(record.entries.filter((entry) => entry !== 'settle timer 1')).toEqual([
    'begin',
    'model 1',
    'open timer 1',
    'model 1',
    'finish stop',
  ]);
  expect(record.looks.length).toBeLessThanOrEqual(3);
});

test('cancelling a run that waits for a provider or a budget ends it at once', async () => {
  const { record, handle } = await start({ turns: [{ outcome: 'wait', wait: { on: 'budget' } }], gates: () => gateState(1) });

  await until(() => record.looks.length === 1);
  await handle.cancel();
  await handle.result();

  expect(record.entries).toEqual(['begin', 'model 1', 'open budget 1', 'finish cancelled']);
});

test('time spent waiting is not counted: the run goes on with what its row says is left', async () => {
  const { record, handle } = await start({
    begin: (count) => ({ remainingMs: 3_000, isWaiting: count === 2 }),
    turns: [callsTurn(gated)],
    gates: ({ how }) => (how === 'open' ? gateState(1) : noGates),
  });

  await until(() => record.entries.filter((entry) => entry === 'begin').length === 2);
  await handle.signal(agentRunSignals.approvalDecided);
  await handle.result();

  expect(record.finishes.map(({ reason }) => reason)).toEqual(['stop']);
});

test('after a wait the time that is left still ends the run', async () => {
  const { record, handle } = await start({
    begin: (count) => ({ remainingMs: count > 3 ? 0 : 300, isWaiting: count === 2 }),
    turns: [callsTurn(gated), untilCancelled],
    gates: ({ how }) => (how === 'open' ? gateState(1) : noGates),
  });

  await until(() => record.entries.filter((entry) => entry === 'begin').length === 2);
  await handle.signal(agentRunSignals.approvalDecided);
  await handle.result();

  expect(record.entries.slice(-1)).toEqual(['finish timeout']);
  expect(record.entries).toContain('model 2');
});

test('the thirty days of a run end it while it waits', async () => {
  const { record } = await runToEnd({
    // Long enough that the question is open by then, on a busy machine too.
    begin: (count) => ({ remainingMs: count === 1 ? 3_000 : 0, isWaiting: count > 1 }),
    turns: [callsTurn(gated)],
    gates: () => gateState(1),
  });

  expect(record.entries).toEqual(['begin', 'model 1', 'open 1', 'begin', 'finish timeout']);
});

test('a run that can not have waited is stopped by its clock without another look', async () => {
  const { record } = await runToEnd({ begin: { remainingMs: 300 }, turns: [untilCancelled] });

  expect(record.entries).toEqual(['begin', 'model 1', 'finish timeout']);
});

test('a waiting run whose time is up looks at it no more often than every half minute', async () => {
  const { record, handle } = await start({
    begin: (count) => ({ remainingMs: count === 1 ? 3_000 : 1, isWaiting: count > 1 }),
    turns: [callsTurn(gated)],
    gates: ({ how }) => (how === 'open' ? gateState(1) : noGates),
  });

  await until(() => record.entries.filter((entry) => entry === 'begin').length === 2);
  await new Promise((resolve) => setTimeout(resolve, 1500));
  expect(record.entries.filter((entry) => entry === 'begin')).toHaveLength(2);
  await handle.cancel();
  await handle.result();
});

function onceThenFinal<Outcome>(outcome: Outcome): () => Promise<Outcome | typeof final> {
  let isAsked = false;

  return async () => {
    if (isAsked) return final;
    isAsked = true;
    return outcome;
  };
}

async function start(script: RunScript, from: Omit<AgentRunInput, 'runId'> = {}) {
  const runId = randomUUID();
  const record = fakes.script(runId, script);

  await startAgentRun(place, runId, from);
  return { record, handle: place.temporal.client.workflow.getHandle(workflowIds.run(runId)) };
}

async function runToEnd(script: RunScript): Promise<{ record: RunRecord }> {
  const { record, handle } = await start(script);

  await handle.result();
  return { record };
}
