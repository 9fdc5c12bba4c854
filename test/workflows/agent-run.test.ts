import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { WorkflowHandle } from '@temporalio/client';
import { workflowIds } from '../../workflows/contracts/queues.ts';
import { callsTurn, fakeRuns, readCall, untilCancelled, writeCall, type RunRecord, type RunScript } from '../fakes/run-activities.ts';
import { minMs } from '../support/least.ts';
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

test('a run without tools asks the model once and ends with stop', async () => {
  const { record } = await runToEnd({});

  expect(record.entries).toEqual(['begin', 'model 1', 'finish stop']);
});

test('an ended run is left alone', async () => {
  const { record } = await runToEnd({ begin: { done: true } });

  expect(record.entries).toEqual(['begin']);
});

test('a run that was cancelled before it began asks no model', async () => {
  const { record } = await runToEnd({ begin: { cancelRequested: true } });

  expect(record.entries).toEqual(['begin', 'finish cancelled']);
});

test('unread input gives another step instead of an end', async () => {
  const { record } = await runToEnd({ finish: (_input, count) => ({ more: count === 1 }) });

  expect(record.entries).toEqual(['begin', 'model 1', 'finish stop', 'model 2', 'finish stop']);
});

test.each(['refused', 'max_output'] as const)('the outcome %s ends the run with that reason', async (outcome) => {
  const { record } = await runToEnd({ turns: [{ outcome }] });

  expect(record.entries).toEqual(['begin', 'model 1', `finish ${outcome}`]);
});

test('a run that only calls tools ends at max_steps', async () => {
  const { record } = await runToEnd({
    begin: { maxSteps: 2 },
    turns: [callsTurn(readCall('a')), callsTurn(readCall('b')), callsTurn(readCall('c'))],
  });

  expect(record.entries).toEqual(['begin', 'model 1', 'tool a', 'model 2', 'tool b', 'finish max_steps']);
});

test("reads run at most eight at once, writes one after another in the model's order, settled calls not at all", async () => {
  const open = new Set<string>();
  const writesAtOnce: number[] = [];
  const calls = Array.from({ length: 12 }, (_, index) => [readCall(`r${index}`), ...(index < 3 ? [writeCall(`w${index}`)] : [])]).flat();
  let isFull = false;
  const { record } = await runToEnd({
    turns: [callsTurn(readCall('settled', { isSettled: true }), ...calls)],
    tool: async (id) => {
      open.add(id);
      writesAtOnce.push([...open].filter((other) => other.startsWith('w')).length);
      isFull ||= open.size === 9;
      await until(() => isFull);
      open.delete(id);
    },
  });

  expect(record.toolsMost).toBe(9);
  expect(Math.max(...writesAtOnce)).toBe(1);
  expect(record.entries.filter((entry) => entry.startsWith('tool w'))).toEqual(['tool w0', 'tool w1', 'tool w2']);
  expect(record.entries).not.toContain('tool settled');
});

test('a call that was lost before its claim is run anew', async () => {
  let tries = 0;
  const { record } = await runToEnd({
    turns: [callsTurn(writeCall('w'))],
    tool: async () => {
      if (++tries === 1) throw new Error('lost');
    },
    settle: () => ({ again: true }),
  });

  expect(record.entries).toEqual(['begin', 'model 1', 'tool w', 'settle w lost', 'tool w', 'model 2', 'finish stop']);
});

test('a write that failed after its claim is attempted once', async () => {
  const { record } = await runToEnd({ turns: [callsTurn(writeCall('w'))], tool: () => Promise.reject(new Error('lost')) });

  expect(record.entries).toEqual(['begin', 'model 1', 'tool w', 'settle w lost', 'model 2', 'finish stop']);
});

test('cancelling during a model call ends the run within two seconds', async () => {
  const least = await minMs(2_000, async () => {
    const { record, handle } = await start({ turns: [untilCancelled] });
    await until(() => record.entries.includes('model 1'));
    const tookMs = await cancel(handle);

    expect(record.finishes).toEqual([{ runId: expect.any(String), reason: 'cancelled' }]);
    return tookMs;
  });

  expect(least).toBeLessThan(2_000);
});

test('cancelling gives a deaf tool its own timeout as grace, then settles it', async () => {
  // Its activity would be given up by Temporal after 11 s only.
  const least = await minMs(10_000, async () => {
    const { record, handle } = await start({
      turns: [callsTurn(readCall('r', { timeoutS: 1 }), writeCall('w', { timeoutS: 1 }), writeCall('never'))],
      tool: fakes.deaf,
    });
    await until(() => record.toolsNow === 2);
    const tookMs = await cancel(handle);

    expect(tookMs).toBeGreaterThanOrEqual(900);
    expect(record.entries.slice(-3).toSorted()).toEqual(['finish cancelled', 'settle r cancelled', 'settle w cancelled']);
    expect(record.entries).not.toContain('tool never');
    return tookMs;
  });

  expect(least).toBeLessThan(10_000);
});

test('a tool that heeds the cancellation ends the run at once', async () => {
  const least = await minMs(10_000, async () => {
    const { record, handle } = await start({ turns: [callsTurn(writeCall('w'))], tool: untilCancelled });
    await until(() => record.toolsNow === 1);
    const tookMs = await cancel(handle);

    expect(record.entries.slice(-2)).toEqual(['settle w cancelled', 'finish cancelled']);
    return tookMs;
  });

  expect(least).toBeLessThan(10_000);
});

test('the end of its time ends the run with timeout', async () => {
  const { record } = await runToEnd({ begin: { remainingMs: 500 }, turns: [untilCancelled] });

  expect(record.finishes.map((finish) => finish.reason)).toEqual(['timeout']);
});

test('a mistake in workflow code ends the run and fails the workflow, which is not tried again and again', async () => {
  const malformed = { outcome: 'calls' } as never;
  const { record, handle } = await start({ turns: [malformed] });
  await until(() => record.entries.includes('model 1'));

  await expect(handle.result()).rejects.toThrow();
  expect(record.finishes).toEqual([
    expect.objectContaining({ reason: 'error', error: expect.objectContaining({ code: 'internal_error' }) }),
  ]);
});

test('after a hundred steps the run goes on in a new history, in the same tenant', async () => {
  const { record, handle, run } = await start({
    begin: { maxSteps: 500 },
    turns: Array.from({ length: 103 }, () => callsTurn(readCall('settled', { isSettled: true }))),
  });
  const firstRunId = (await handle.describe()).runId;

  await handle.result();

  expect((await handle.describe()).runId).not.toBe(firstRunId);
  expect(record.entries.filter((entry) => entry === 'begin')).toHaveLength(2);
  expect(record.entries.filter((entry) => entry.startsWith('model'))).toEqual(
    Array.from({ length: 104 }, (_, index) => `model ${index + 1}`),
  );
  expect(record.tenant).toEqual({ organizationId: run.organizationId, workspaceId: run.workspaceId, correlationId: run.correlationId });
});

test('a step with one tool costs at most twelve events and four kilobytes', async () => {
  const turn = callsTurn(readCall(randomUUID()));
  const short = await historyOf({ turns: [turn] });
  const long = await historyOf({ turns: [turn, turn, turn] });

  expect((long.events - short.events) / 2).toBeLessThanOrEqual(12);
  expect((long.bytes - short.bytes) / 2).toBeLessThanOrEqual(4096);
});

test('a wake-up signal disturbs nothing', async () => {
  const { record, handle } = await start({
    turns: [
      async () => {
        await handle.signal('inputAdded');
        return { outcome: 'final' };
      },
    ],
  });

  await handle.result();

  expect(record.entries).toEqual(['begin', 'model 1', 'finish stop']);
});

async function start(script: RunScript) {
  const runId = randomUUID();
  const record = fakes.script(runId, script);
  const run = await startAgentRun(place, runId);

  return { record, run, handle: place.temporal.client.workflow.getHandle(workflowIds.run(runId)) };
}

/** Cancels a run; gives the milliseconds until it has ended. */
async function cancel(handle: WorkflowHandle): Promise<number> {
  const cancelledAt = Date.now();
  await handle.cancel();
  await handle.result();
  return Date.now() - cancelledAt;
}

async function runToEnd(script: RunScript): Promise<{ record: RunRecord }> {
  const { record, handle } = await start(script);

  await handle.result();
  return { record };
}

async function historyOf(script: RunScript): Promise<{ events: number; bytes: number }> {
  const { handle } = await start(script);

  await handle.result();
  const { historyLength, historySize } = await handle.describe();

  return { events: historyLength, bytes: historySize ?? 0 };
}
