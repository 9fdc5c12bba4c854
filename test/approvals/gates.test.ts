import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { moveRunWait } from '../../domain/approvals/run-waits.ts';
import { lockCall } from '../../db/runs/calls/call-state.ts';
import { lateWaits } from '../../db/runs/end/reconcile.ts';
import { remainingMs, type RunState } from '../../db/runs/run-state.ts';
import { appendResult, claimCall, endCallBeside } from '../../domain/runs/calls/tool-calls.ts';
import { resultWithoutOutput } from '../../db/runs/run-frames.ts';
import { settleStatus } from '../../domain/runs/waiting.ts';
import { sweep } from '../../db/transaction.ts';
import { makeAsked, openTreeWorld, type TreeWorld } from '../sub-agents/tree.ts';
import { makeTool, openGates, withRun } from './asked-run.ts';

let tree: TreeWorld;

beforeAll(async () => {
  tree = await openTreeWorld();
});

afterAll(() => tree?.close());

/** A run that has begun, of an agent with two tools: `asked` needs an approval, `free` does not. */
async function begun(): Promise<{ runId: string; asked: string; free: string }> {
  const [asked, free] = [await makeTool(tree), await makeTool(tree)];
  const agent = await makeAsked(tree, { tools: [{ slug: asked, approval: 'always' }, { slug: free }] });
  return { runId: await tree.begin(agent.id), asked, free };
}

const open = (runId: string) => openGates(tree, runId);
const locked = <R>(runId: string, work: Parameters<typeof withRun<R>>[2]) => withRun(tree, runId, work);
const stateOf = (runId: string): Promise<RunState> => locked(runId, async (_tx, { run }) => run);

/** Ends a call as its activity does. */
async function endCall(runId: string, callId: string): Promise<void> {
  const hasWaits = await tree.as(runId, async (tx) => {
    const call = await lockCall(tx, runId, callId);
    if (!call) throw new Error('the call is gone');
    const end = { state: 'succeeded', result: resultWithoutOutput('succeeded', null), rest: null } as const;
    const ended = await endCallBeside(tx, call, call.attempt, end);
    if (ended) await appendResult(tx, call, call.attempt, ended.frame);
    return ended?.hasWaits ?? false;
  });
  if (hasWaits) await locked(runId, settleStatus);
}

async function claimed(runId: string, callId: string): Promise<void> {
  await tree.as(runId, async (tx) => {
    const call = await lockCall(tx, runId, callId);
    if (call) await claimCall(tx, call);
  });
}

test('gates that are opened again, and at the same time, ask once and say the same', async () => {
  const { runId, asked } = await begun();
  await tree.ask(
    runId,
    [1, 2].map((n) => ({ slug: asked, args: { n } })),
  );

  const states = await Promise.all(Array.from({ length: 4 }, () => open(runId)));
  const { count } = await tree.one<{ count: number }>('select count(*)::int as count from approvals where run_id = ?', [runId]);

  expect(states.map(({ ready, open }) => [ready.length, open])).toEqual(Array.from({ length: 4 }, () => [0, 2]));
  expect(states.every(({ nextMs }) => nextMs > 86_000_000 && nextMs <= 86_400_000)).toBe(true);
  expect(count).toBe(2);
  expect(await stateOf(runId)).toMatchObject({ status: 'waiting', waiting_on: 'approval', pending_approvals: 2 });
});

test('a call that ends while a gate opens: whoever comes second says that the run waits', async () => {
  for (let round = 0; round < 12; round += 1) {
    const { runId, asked, free } = await begun();
    const [, freeCall = ''] = await tree.ask(
      runId,
      [asked, free].map((slug) => ({ slug, args: { n: 1 } })),
    );
    await claimed(runId, freeCall);

    await Promise.all([open(runId), endCall(runId, freeCall)]);

    expect(await stateOf(runId)).toMatchObject({ status: 'waiting', waiting_on: 'approval' });
  }
});

test('eight answers at once to one question: one is applied, the call becomes ready once', async () => {
  const { runId, asked } = await begun();
  await tree.ask(runId, [{ slug: asked, args: { n: 1 } }]);
  await open(runId);
  const { id } = await tree.one<{ id: string }>('select id from approvals where run_id = ?', [runId]);
  const body = { resolutions: [{ approval_id: id, decision: 'approve' }] };

  const answers = await Promise.all(
    Array.from({ length: 8 }, () => tree.world.call(tree.tenant.tokens.member, 'POST', `/runs/${runId}/approvals`, { body })),
  );
  const { signals } = await tree.one<{ signals: number }>(
    `select count(*)::int as signals from outbox where kind = 'workflow.signal' and target = ?`,
    [`run:${runId}`],
  );

  expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 8 }, () => 200));
  expect(answers.reduce((sum, answer) => sum + answer.body.applied, 0)).toBe(1);
  expect(signals).toBe(1);
  expect(await open(runId)).toMatchObject({ ready: [{ isSettled: false }], open: 0 });
  expect((await open(runId)).ready[0]).not.toHaveProperty('gate');
});

test('time spent in waiting is not the run’s', async () => {
  const { runId, asked } = await begun();
  await tree.ask(runId, [{ slug: asked, args: { n: 1 } }]);
  await open(runId);
  await tree.one(
    `update runs set started_at = started_at - interval '50 minutes', waiting_since = now() - interval '45 minutes' where id = ? returning id`,
    [runId],
  );
  const whileWaiting = remainingMs(await stateOf(runId), new Date());
  const { id } = await tree.one<{ id: string }>('select id from approvals where run_id = ?', [runId]);

  await tree.world.call(tree.tenant.tokens.member, 'POST', `/runs/${runId}/approvals`, {
    body: { resolutions: [{ approval_id: id, decision: 'approve' }] },
  });
  const after = await stateOf(runId);

  const minutes = (ms: number) => Math.round(ms / 60_000);
  expect(minutes(whileWaiting)).toBe(55);
  expect(after).toMatchObject({ status: 'running', waiting_since: null, waiting_on: null });
  expect(minutes(after.waited_ms)).toBe(45);
  expect(minutes(remainingMs(after, new Date()))).toBe(55);
});

test('a pause that a provider asks for is waited out, and looked at again says the same', async () => {
  const { runId } = await begun();
  const untilMs = Date.now() + 90_000;
  const look = (ms: number) =>
    locked(runId, (tx, runs) => moveRunWait(tx, runs, { step: 1, wait: { on: 'timer', untilMs: ms }, opens: true }));

  const [first, second] = [await look(untilMs), await look(untilMs)];
  const waiting = await stateOf(runId);
  // By the database's clock, which a busy process follows to some milliseconds.
  const over = await look(Date.now() - 1_000);

  expect([first.open, second.open]).toEqual([1, 1]);
  expect(waiting).toMatchObject({ status: 'waiting', waiting_on: 'timer' });
  expect(new Date(waiting.waiting_until ?? 0).getTime()).toBe(untilMs);
  expect(over).toMatchObject({ open: 0 });
  expect(await stateOf(runId)).toMatchObject({ status: 'running', waiting_on: null });
  const changes = (await tree.frames(runId)).filter((frame) => frame.type === 'run.status').map((frame) => frame.data);
  expect(changes.slice(-2)).toMatchObject([
    { status: 'waiting', waiting_on: 'timer' },
    { status: 'running', previous: 'waiting' },
  ]);
});

test('a wait that ended without its workflow is found by the reconciler, one that has not is left alone', async () => {
  const [late, early] = [await begun(), await begun()];
  for (const { runId, asked } of [late, early]) {
    await tree.ask(runId, [{ slug: asked, args: { n: 1 } }]);
    await open(runId);
  }
  await tree.one(`update approvals set expires_at = now() - interval '2 minutes' where run_id = ? returning id`, [late.runId]);

  const found = (await sweep(tree.world.api.db, (em) => lateWaits(em, 100))).map(({ id }) => id);
  const settled = await open(late.runId);

  expect(found).toContain(late.runId);
  expect(found).not.toContain(early.runId);
  expect(settled).toMatchObject({ open: 0, ready: [] });
  expect(await stateOf(late.runId)).toMatchObject({ status: 'running', pending_approvals: 0 });
});
