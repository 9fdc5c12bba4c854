import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { OpenChildResult } from '../../workflows/contracts/runs/agent-run.ts';
import { workflowIds } from '../../workflows/contracts/queues.ts';
import {
  callsTurn,
  fakeRuns,
  gateState,
  readCall,
  untilCancelled,
  writeCall,
  type RunRecord,
  type RunScript,
} from '../fakes/run-activities.ts';
import { minMs } from '../support/least.ts';
import { testNamespace, until, type TestNamespace } from '../support/temporal.ts';
import { startAgentRun, startTestWorker, type StartedRun } from '../support/worker.ts';

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

const delegate = (id: string) => writeCall(id, { child: true });

test("a delegate call is the run of another workflow in its parent's tenant; the parent goes on when it has ended", async () => {
  const child = childRun({ turns: [callsTurn(readCall('of-child'))] });
  const { record, run, handle } = await start({ turns: [callsTurn(delegate('d'))], child: () => child.opened });

  await handle.result();

  expect(child.record.entries).toEqual(['begin', 'model 1', 'tool of-child', 'model 2', 'finish stop']);
  expect(record.entries).toEqual(['begin', 'model 1', 'child d', 'settle d child', 'model 2', 'finish stop']);
  expect(child.record.tenant).toEqual({
    organizationId: run.organizationId,
    workspaceId: run.workspaceId,
    correlationId: run.correlationId,
  });
  const described = await place.temporal.client.workflow.getHandle(workflowIds.run(child.runId)).describe();
  expect(described.searchAttributes).toMatchObject({ AgentId: [child.opened.child.agentId], RunKind: ['sub_agent'] });
  expect(described.memo).toEqual({ correlation_id: run.correlationId });
});

test('a child that was begun before its workflow was lost takes up its rows where they stand', async () => {
  const child = childRun({});
  const { record } = await runToEnd({ turns: [callsTurn(delegate('d'))], child: () => ({ ...child.opened, from: { step: 4 } }) });

  expect(child.record.entries).toEqual(['begin', 'model 4', 'finish stop']);
  expect(record.entries).toEqual(['begin', 'model 1', 'child d', 'settle d child', 'model 2', 'finish stop']);
});

test('a call that may have no run has its result already', async () => {
  const { record } = await runToEnd({ turns: [callsTurn(delegate('d'))], child: () => ({ child: null }) });

  expect(record.entries).toEqual(['begin', 'model 1', 'child d', 'model 2', 'finish stop']);
});

test('at most four runs are at work for a step at once, beside its tools', async () => {
  let now = 0;
  let most = 0;
  const children = Array.from({ length: 6 }, () =>
    childRun({
      turns: [
        async () => {
          most = Math.max(most, ++now);
          await until(() => most === 4);
          await new Promise((resolve) => setTimeout(resolve, 100));
          now--;
          return { outcome: 'final' };
        },
      ],
    }),
  );
  const { record } = await runToEnd({
    turns: [callsTurn(...children.map((_child, index) => delegate(`d${index}`)), readCall('beside'))],
    child: (id) => children[Number(id.slice(1))]?.opened ?? { child: null },
  });

  expect(most).toBe(4);
  expect(record.entries.filter((entry) => entry.startsWith('settle'))).toHaveLength(6);
  expect(record.entries.indexOf('tool beside')).toBeLessThan(record.entries.findIndex((entry) => entry.startsWith('settle')));
});

test('a delegate call that needs an approval opens its run when it has one', async () => {
  const child = childRun({});
  const call = { ...delegate('d'), gate: true };
  const { record } = await runToEnd({
    turns: [callsTurn(call)],
    gates: () => gateState(0, { ready: [call] }),
    child: () => child.opened,
  });

  expect(record.entries).toEqual(['begin', 'model 1', 'open 1', 'child d', 'settle d child', 'model 2', 'finish stop']);
});

test('a delegate call that turns out to need one is asked for first', async () => {
  const child = childRun({});
  let tries = 0;
  const { record } = await runToEnd({
    turns: [callsTurn(delegate('d'))],
    gates: () => gateState(0, { ready: [delegate('d')] }),
    child: () => (++tries === 1 ? { child: null, gated: true } : child.opened),
  });

  expect(record.entries).toEqual(['begin', 'model 1', 'child d', 'open 1', 'child d', 'settle d child', 'model 2', 'finish stop']);
});

test('the row of a child tells its end, whatever became of its workflow: terminated, failed, or started by somebody else', async () => {
  const terminated = childRun({ turns: [fakes.deaf] as never });
  const failing = childRun({ turns: [{ outcome: 'calls' } as never] });
  const taken = childRun({});
  const children = [terminated, failing, taken];
  await startAgentRun(place, taken.runId);
  await place.temporal.client.workflow.getHandle(workflowIds.run(taken.runId)).result();
  const looks = new Map<string, number>();
  const { record, handle } = await start({
    turns: [callsTurn(delegate('d0'), delegate('d1'), delegate('d2'))],
    child: (id) => children[Number(id.slice(1))]?.opened ?? { child: null },
    // The row of the terminated one is live until somebody repairs it.
    settle: ({ toolCallId }) => {
      looks.set(toolCallId, (looks.get(toolCallId) ?? 0) + 1);
      return { again: toolCallId === 'd0' && looks.get(toolCallId) === 1 };
    },
  });

  await until(() => terminated.record.entries.includes('model 1'));
  await place.temporal.client.workflow.getHandle(workflowIds.run(terminated.runId)).terminate();
  await handle.result();

  expect(Object.fromEntries(looks)).toEqual({ d0: 2, d1: 1, d2: 1 });
  expect(record.entries.slice(-2)).toEqual(['model 2', 'finish stop']);
});

test('the cancel of a tree reaches each run by itself: the parent waits for the end of its child', async () => {
  const least = await minMs(10_000, async () => {
    const child = childRun({ turns: [untilCancelled] });
    const { record, handle } = await start({ turns: [callsTurn(delegate('d'))], child: () => child.opened });
    await until(() => child.record.entries.includes('model 1'));
    const cancelledAt = Date.now();
    await handle.cancel();
    await place.temporal.client.workflow.getHandle(workflowIds.run(child.runId)).cancel();
    await handle.result();

    expect(child.record.entries).toEqual(['begin', 'model 1', 'finish cancelled']);
    expect(record.entries).toEqual(['begin', 'model 1', 'child d', 'settle d child', 'finish cancelled']);
    return Date.now() - cancelledAt;
  });

  expect(least).toBeLessThan(10_000);
});

test('a cancelled run does not wait for a child that hears nothing', async () => {
  const child = childRun({ turns: [fakes.deaf] as never });
  const { record, handle } = await start({ turns: [callsTurn(delegate('d'))], child: () => child.opened });

  await until(() => child.record.entries.includes('model 1'));
  await handle.cancel();
  await handle.result();

  expect(record.entries).toEqual(['begin', 'model 1', 'child d', 'settle d cancelled', 'finish cancelled']);
});

test('the end of its time ends a run at once, and its child with it', async () => {
  const child = childRun({ turns: [untilCancelled] });
  const { record } = await runToEnd({
    begin: (count) => ({ remainingMs: count === 1 ? 3_000 : 0 }),
    turns: [callsTurn(delegate('d'))],
    child: () => child.opened,
  });

  expect(record.entries.slice(-2)).toEqual(['settle d cancelled', 'finish timeout']);
  await until(() => child.record.entries.at(-1) === 'finish cancelled');
});

interface ScriptedChild {
  readonly runId: string;
  readonly record: RunRecord;
  readonly opened: OpenChildResult & { readonly child: NonNullable<OpenChildResult['child']> };
}

function childRun(script: RunScript): ScriptedChild {
  const runId = randomUUID();
  const record = fakes.script(runId, script);
  const child = { runId, agentId: randomUUID(), organizationId: randomUUID(), workspaceId: randomUUID() };

  return { runId, record, opened: { child } };
}

async function start(script: RunScript) {
  const runId = randomUUID();
  const record = fakes.script(runId, script);
  const run: StartedRun = await startAgentRun(place, runId);

  return { record, run, handle: place.temporal.client.workflow.getHandle(workflowIds.run(runId)) };
}

async function runToEnd(script: RunScript): Promise<{ record: RunRecord }> {
  const { record, handle } = await start(script);

  await handle.result();
  return { record };
}
