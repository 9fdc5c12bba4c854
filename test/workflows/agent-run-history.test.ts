import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { agentRunSignals } from '../../workflows/contracts/runs/agent-run.ts';
import { workflowIds } from '../../workflows/contracts/queues.ts';
import { callsTurn, fakeRuns, gateState, noGates, readCall, writeCall, type RunScript } from '../fakes/run-activities.ts';
import { testNamespace, until, type TestNamespace } from '../support/temporal.ts';
import { startAgentRun, startTestWorker } from '../support/worker.ts';
import { flood } from './signal-flood.ts';

const fakes = fakeRuns();
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

test('signals across new histories: every message is read once, none is left', async () => {
  const { runId, reads, models } = await flood(place, fakes, { messages: 75, histories: 3 });

  expect(reads).toEqual(reads.map(() => 1));
  expect(models).toEqual(models.map((_entry, index) => `model ${index + 1}`));
  expect((await executionsOf(runId)).length).toBeGreaterThanOrEqual(4);
});

test('a run of one step is one activity and two workflow tasks', async () => {
  const { handle } = await start({});

  await handle.result();
  const { events } = await handle.fetchHistory();

  expect(
    events
      ?.filter((event) => event.activityTaskScheduledEventAttributes)
      .map((event) => event.activityTaskScheduledEventAttributes?.activityType?.name),
  ).toEqual(['callModel']);
  expect(events?.filter((event) => event.workflowTaskScheduledEventAttributes)).toHaveLength(2);
  expect(events?.length).toBeLessThanOrEqual(17);
});

test('two hundred steps with a tool each take less than 1.5 MB of histories', async () => {
  const { handle, runId } = await start({
    begin: { maxSteps: 500 },
    turns: Array.from({ length: 200 }, () => callsTurn(readCall(randomUUID()))),
  });

  await handle.result();
  const executions = await executionsOf(runId);

  expect(executions).toHaveLength(3); // 100 steps, 100 steps, the end
  expect(executions.reduce((sum, { bytes }) => sum + bytes, 0)).toBeLessThan(1.5 * 1024 * 1024);
});

test('a step with a gated call costs a question and an answer more, and nothing for the time between', async () => {
  const gated = writeCall('gated', { gate: true });
  const eventsOf = async (script: RunScript) => {
    const { handle } = await start(script);
    await handle.result();
    return (await handle.describe()).historyLength;
  };
  const plain = await eventsOf({ turns: [callsTurn(writeCall('gated'))] });
  const asked = await eventsOf({
    turns: [callsTurn(gated)],
    gates: ({ how }) => (how === 'open' ? gateState(1, { nextMs: 500 }) : { ...noGates, ready: [gated] }),
  });

  // Two activities with a workflow task each, and the timer of the wait with one.
  expect(asked - plain).toBeLessThanOrEqual(12 + 5);
});

test('two tenants in one worker share nothing: what wakes the one leaves the other asleep, each goes its own way', async () => {
  const script = (id: string): RunScript => ({
    turns: [callsTurn(writeCall(id, { gate: true }))],
    gates: ({ how }) => (how === 'open' ? gateState(1) : { ...noGates, ready: [writeCall(id, { gate: true })] }),
  });
  const [one, other] = [await start(script('of-one')), await start(script('of-other'))];

  await until(() => one.record.looks.length === 1 && other.record.looks.length === 1);
  await one.handle.signal(agentRunSignals.approvalDecided);
  await one.handle.result();
  expect(other.record.entries).toEqual(['begin', 'model 1', 'open 1']);
  await other.handle.signal(agentRunSignals.approvalDecided);
  await other.handle.result();

  for (const [{ record, run }, id] of [[one, 'of-one'] as const, [other, 'of-other'] as const]) {
    expect(record.entries).toEqual(['begin', 'model 1', 'open 1', 'settle 1', `tool ${id}`, 'model 2', 'finish stop']);
    expect(record.tenant).toMatchObject({ organizationId: run.organizationId, workspaceId: run.workspaceId });
  }
});

/** Every execution of a run's chain, oldest first. */
async function executionsOf(runId: string): Promise<{ bytes: number; events: number }[]> {
  const { client } = place.temporal;
  const found: { bytes: number; events: number }[] = [];
  let execution: string | undefined = (await firstExecution(runId)) ?? undefined;

  while (execution) {
    const handle = client.workflow.getHandle(workflowIds.run(runId), execution);
    const { historySize, historyLength } = await handle.describe();
    const { events } = await handle.fetchHistory();
    found.push({ bytes: historySize ?? 0, events: historyLength });
    execution = events?.at(-1)?.workflowExecutionContinuedAsNewEventAttributes?.newExecutionRunId ?? undefined;
  }
  return found;
}

async function firstExecution(runId: string): Promise<string | null | undefined> {
  const { events } = await place.temporal.client.workflow.getHandle(workflowIds.run(runId)).fetchHistory();

  return events?.[0]?.workflowExecutionStartedEventAttributes?.firstExecutionRunId;
}

async function start(script: RunScript) {
  const runId = randomUUID();
  const record = fakes.script(runId, script);
  const run = await startAgentRun(place, runId);

  return { record, run, runId, handle: place.temporal.client.workflow.getHandle(workflowIds.run(runId)) };
}
