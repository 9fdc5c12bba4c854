import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { cancelRun } from '../../domain/runs/end/cancel-run.ts';
import { finishRun } from '../../domain/runs/end/finish-run.ts';
import { settleChild } from '../../domain/runs/children/settle-child.ts';
import { withAdmin } from '../support/template.ts';
import { makeAsked, openTreeWorld, type TreeWorld } from './tree.ts';

let tree: TreeWorld;

beforeAll(async () => {
  tree = await openTreeWorld();
});

afterAll(() => tree.close());

const task = (words: string) => ({ task: words });

/** A begun run whose model has asked one agent `calls` times. */
async function asking(calls = 1, more: Readonly<Record<string, unknown>> = {}) {
  const leaf = await makeAsked(tree);
  const top = await makeAsked(tree, { sub_agents: [{ id: leaf.id }] });
  const runId = await tree.begin(top.id, more);
  const callIds = await tree.ask(
    runId,
    Array.from({ length: calls }, (_, n) => ({ slug: leaf.ask, args: task(`Task ${n}.`) })),
  );
  return { leaf, top, runId, callIds, callId: callIds[0] ?? '' };
}

const stop = (runId: string) => tree.as(runId, (tx) => finishRun(tx, { runId, reason: 'stop' }));
const settle = (runId: string, toolCallId: string) => settleChild({ transact: (work) => tree.as(runId, work) }, { runId, toolCallId });
const call = (id: string) =>
  tree.one<{ state: string; child_run_id: string | null; error: { code: string; reason: string | null } | null; output: unknown }>(
    'select state, child_run_id, error, output from tool_calls where id = ?',
    [id],
  );
const run = <R = Record<string, unknown>>(id: string) => tree.one<R>('select * from runs where id = ?', [id]);

test('a call opens one child, however often and however many at once it is asked', async () => {
  const { runId, callId, leaf } = await asking();

  const opened = await Promise.all(Array.from({ length: 4 }, () => tree.open(runId, callId)));
  const again = await tree.open(runId, callId);

  const ids = new Set([...opened, again].map((one) => (one.kind === 'child' ? one.child.runId : one.kind)));
  expect(ids.size).toBe(1);
  const children = await tree.one<{ count: number }>('select count(*)::int as count from runs where parent_run_id = ?', [runId]);
  expect(children.count).toBe(1);
  expect(await call(callId)).toMatchObject({ state: 'executing', child_run_id: [...ids][0] });
  expect(await run([...ids][0] ?? '')).toMatchObject({
    agent_id: leaf.id,
    status: 'queued',
    source: 'sub_agent',
    parent_run_id: runId,
    parent_tool_call_id: callId,
    root_run_id: runId,
    depth: 1,
    session_key: null,
  });
  const outbox = await tree.one<{ count: number }>(`select count(*)::int as count from outbox where target = ?`, [`run:${[...ids][0]}`]);
  expect(outbox.count).toBe(0);
});

test('a child acts for whom its parent acts, as little as its parent may, and knows what its parent has read', async () => {
  const { runId, callId } = await asking(1, { subject: { kind: 'guest', id: 'guest-7' } });
  await tree.as(runId, async (tx) => {
    await tx.em.execute(`update runs set untrusted = true, max_effect = 'read', event_depth = 2 where id = '${runId}'`);
  });

  const childId = await tree.openAndBegin(runId, callId);

  const [parent, child] = [await run(runId), await run(childId)];
  for (const name of [
    'subject_kind',
    'subject_id',
    'created_by_kind',
    'created_by_id',
    'workspace_id',
    'untrusted',
    'max_effect',
    'event_depth',
  ])
    expect(`${name} ${String(child[name])}`).toBe(`${name} ${String(parent[name])}`);
  expect(child).toMatchObject({
    untrusted: true,
    max_effect: 'read',
    event_depth: 2,
    conversation_id: expect.not.stringMatching(String(parent['conversation_id'])),
  });
});

test('what a child may spend is what is left to its parent, narrowed by its binding and its own revision', async () => {
  const leaf = await makeAsked(tree, { limits: { max_steps: 7, max_duration_s: 600, max_children: 4 } });
  const top = await makeAsked(tree, { sub_agents: [{ id: leaf.id, max_cost: '0.50' }] });
  const runId = await tree.begin(top.id, {
    limits: { max_cost: '2.00', max_depth: 2, max_duration_s: 300, approval_ttl_s: 60, on_budget: 'wait' },
  });
  await tree.as(runId, async (tx) => {
    await tx.em.execute(`update runs set usage_subtree = jsonb_set(usage_subtree, '{cost_amount}', '"1.75"') where id = '${runId}'`);
  });
  const [callId = ''] = await tree.ask(runId, [{ slug: leaf.ask, args: task('Spend.') }]);

  const childId = await tree.openAndBegin(runId, callId);

  const { limits } = await run<{ limits: Record<string, unknown> }>(childId);
  expect(limits).toMatchObject({ max_steps: 7, max_cost: '0.25', max_depth: 1, max_children: 4, approval_ttl_s: 60, on_budget: 'wait' });
  expect(limits['max_duration_s']).toBeLessThanOrEqual(300);
});

test.each([
  ['budget_exceeded', { max_cost: '1.00' }, `usage_subtree = jsonb_set(usage_subtree, '{cost_amount}', '"1.00"')`],
  ['timeout', { max_duration_s: 10 }, `started_at = started_at - interval '20 seconds'`],
])('with nothing left (%s) nobody is asked, and the model is told', async (reason, limits, change) => {
  const { runId, callId } = await asking(1, { limits });
  await tree.as(runId, async (tx) => {
    await tx.em.execute(`update runs set ${change} where id = '${runId}'`);
  });

  const opened = await tree.open(runId, callId);

  expect(opened).toEqual({ kind: 'over' });
  expect(await call(callId)).toMatchObject({ state: 'failed', child_run_id: null, error: { code: 'tool_unavailable', reason } });
  await stop(runId);
  expect(await tree.faults([runId])).toEqual([]);
});

test('usage reaches every ancestor, whoever of a tree settles at the same time', async () => {
  const leaf = await makeAsked(tree);
  const middle = await makeAsked(tree, { sub_agents: [{ id: leaf.id }] });
  const top = await makeAsked(tree, { sub_agents: [{ id: middle.id }] });
  const runId = await tree.begin(top.id);
  const calls = await tree.ask(
    runId,
    [1, 2, 3].map((n) => ({ slug: middle.ask, args: task(`Middle ${n}.`) })),
  );
  const middles = await Promise.all(calls.map((id) => tree.openAndBegin(runId, id)));
  const leaves = await Promise.all(
    middles.map(async (id) => {
      const [below = ''] = await tree.ask(id, [{ slug: leaf.ask, args: task('Leaf.') }]);
      return tree.openAndBegin(id, below);
    }),
  );

  await Promise.all(leaves.flatMap((id) => [tree.ask(id, [])]));

  const totals = async (id: string) => {
    const { usage_own: own, usage_subtree: subtree } = await run<Record<string, { model_calls: number; tokens: { input: number } }>>(id);
    return [own?.model_calls, subtree?.model_calls, subtree?.tokens.input];
  };
  expect(await totals(runId)).toEqual([1, 7, 70]);
  for (const id of middles) expect(await totals(id)).toEqual([1, 2, 20]);
  for (const id of leaves) expect(await totals(id)).toEqual([1, 1, 10]);
  const ledger = await tree.one<{ calls: number }>(
    'select count(*)::int as calls from usage_entries where run_id in (select id from runs where root_run_id = ?)',
    [runId],
  );
  expect(ledger.calls).toBe(7);
});

test('the end of a run ends what is below it, in whatever state, children first', async () => {
  const leaf = await makeAsked(tree);
  const middle = await makeAsked(tree, { sub_agents: [{ id: leaf.id }] });
  const top = await makeAsked(tree, { sub_agents: [{ id: middle.id }] });
  const runId = await tree.begin(top.id);
  const [first = '', second = '', third = ''] = await tree.ask(
    runId,
    [1, 2, 3].map((n) => ({ slug: middle.ask, args: task(`Middle ${n}.`) })),
  );
  const running = await tree.openAndBegin(runId, first);
  const waiting = await tree.openAndBegin(runId, second);
  const opened = await tree.open(runId, third);
  const queued = opened.kind === 'child' ? opened.child.runId : '';
  const [below = ''] = await tree.ask(running, [{ slug: leaf.ask, args: task('Leaf.') }]);
  const grandchild = await tree.openAndBegin(running, below);
  await tree.as(grandchild, (tx) => cancelRun(tx, { runId: grandchild, policy: 'interrupt', reason: null }));
  await tree.as(waiting, async (tx) => {
    await tx.em.execute(
      `update runs set status = 'waiting', waiting_on = 'input', waiting_until = now() + interval '1 day', waiting_since = now() where id = '${waiting}'`,
    );
  });

  await tree.as(runId, (tx) => finishRun(tx, { runId, reason: 'max_steps' }));

  const ids = [runId, running, waiting, queued, grandchild];
  const states = await Promise.all(ids.map(async (id) => (await run(id))['status']));
  expect(states).toEqual(['failed', 'cancelled', 'cancelled', 'cancelled', 'cancelled']);
  for (const id of [first, second, third, below]) expect(await call(id)).toMatchObject({ state: 'cancelled' });
  expect((await tree.faults([runId, running, queued, grandchild])).filter((fault) => !fault.includes('previous is'))).toEqual([]);
  const told = (await tree.frames(runId)).filter((frame) => frame.type === 'run.finished').map((frame) => frame.run_id);
  expect(told.at(-1)).toBe(runId);
  expect(told.indexOf(grandchild)).toBeLessThan(told.indexOf(running));
  await tree.as(runId, (tx) => finishRun(tx, { runId, reason: 'stop' }));
  await settle(runId, first);
  expect((await tree.frames(runId)).filter((frame) => frame.type === 'run.finished')).toHaveLength(5);
});

test('a cancelled run cancels what is below it in the same transaction; queued children end at once', async () => {
  const { runId, callIds } = await asking(2);
  const running = await tree.openAndBegin(runId, callIds[0] ?? '');
  const opened = await tree.open(runId, callIds[1] ?? '');
  const queued = opened.kind === 'child' ? opened.child.runId : '';

  await tree.as(runId, (tx) => cancelRun(tx, { runId, policy: 'interrupt', reason: 'enough' }));

  expect((await run(runId))['status']).toBe('cancelling');
  expect((await run(running))['status']).toBe('cancelling');
  expect((await run(queued))['status']).toBe('cancelled');
  expect(await tree.open(runId, callIds[1] ?? '')).toEqual({ kind: 'cancelling' });
  await tree.as(running, (tx) => finishRun(tx, { runId: running, reason: 'cancelled' }));
  await tree.as(runId, (tx) => finishRun(tx, { runId, reason: 'cancelled' }));
  expect(await tree.faults([runId, running, queued])).toEqual([]);
});

test('a child that has ended gives its result once; one that was lost is ended first', async () => {
  const { runId, callIds } = await asking(2);
  const [done = '', lost = ''] = [await tree.openAndBegin(runId, callIds[0] ?? ''), await tree.openAndBegin(runId, callIds[1] ?? '')];
  await stop(done);

  for (const id of [...callIds, ...callIds]) await settle(runId, id);

  expect((await run(lost))['error']).toMatchObject({ reason: 'workflow_closed' });
  expect(await call(callIds[0] ?? '')).toMatchObject({ state: 'succeeded', output: { run_id: done, status: 'succeeded', output: null } });
  expect(await call(callIds[1] ?? '')).toMatchObject({ state: 'failed', error: { reason: 'workflow_closed' } });
  await stop(runId);
  expect(await tree.faults([runId, done, lost])).toEqual([]);
});

test('an answer that was lost after the child had ended finds the result', async () => {
  const { runId, callId } = await asking();
  const child = await tree.openAndBegin(runId, callId);
  await stop(child);

  expect(await tree.open(runId, callId)).toEqual({ kind: 'over' });

  expect(await call(callId)).toMatchObject({ state: 'succeeded', child_run_id: child });
});

test('an agent that was switched off or deleted meanwhile is not asked any more; another revision changes nothing', async () => {
  const { runId, callIds, leaf } = await asking(3);
  const { tokens } = tree.tenant;
  const api = tree.world;
  const revised = await api.call(tokens.admin, 'POST', `/agents/${leaf.id}/revisions`, {
    body: { document: { model: 'builtin/extractive', instructions: 'New.' } },
  });
  await api.call(tokens.admin, 'POST', `/agents/${leaf.id}/revisions/${revised.body.id}/activate`);

  const pinned = await tree.openAndBegin(runId, callIds[0] ?? '');
  await api.call(tokens.admin, 'PATCH', `/agents/${leaf.id}`, { body: { is_active: false } });

  expect((await run(pinned))['agent_revision_id']).not.toBe(revised.body.id);
  await expect(tree.open(runId, callIds[1] ?? '')).rejects.toMatchObject({ code: 'state_conflict', context: { reason: 'agent_inactive' } });
});

test('a call that waits for people opens nothing', async () => {
  const leaf = await makeAsked(tree);
  const top = await makeAsked(tree, { sub_agents: [{ id: leaf.id }], approvals: { write: 'ask' } });
  const runId = await tree.begin(top.id);
  const { manifest } = await run<{ manifest: { tools: { slug: string; gate: string | null }[] } }>(runId);

  const [callId = ''] = await tree.ask(runId, [{ slug: leaf.ask, args: task('May I?'), gate: 'effect' }]);

  expect(manifest.tools).toMatchObject([{ slug: leaf.ask, gate: 'effect' }]);
  expect(await tree.open(runId, callId)).toEqual({ kind: 'gated' });
  expect(await call(callId)).toMatchObject({ state: 'recorded', child_run_id: null });
});

test('files that a child gives back may be read by its parent, those that it was handed as well', async () => {
  const { runId, callId } = await asking();
  const child = await tree.openAndBegin(runId, callId);
  const files = [1, 2].map((n) => ({ attachment_id: crypto.randomUUID(), media_type: 'text/plain', name: `file-${n}.txt`, bytes: 3 }));
  const [workspaceId = ''] = tree.tenant.workspaceIds;
  await stop(child);
  await withAdmin(tree.world.api.database.adminUrl, async (client) => {
    for (const { attachment_id: id, name } of files)
      await client.query(
        `insert into attachments (id, organization_id, workspace_id, filename, media_type, size_bytes, sha256, purpose, state, storage_key, created_by, created_at)
         values ($1::uuid, $2, $3, $4, 'text/plain', 3, repeat('0', 64), 'other', 'ready', $1::text, '{"kind": "agent", "id": null}', now())`,
        [id, tree.tenant.organizationId, workspaceId, name],
      );
    await client.query(
      `insert into attachment_links (id, attachment_id, organization_id, workspace_id, owner_kind, owner_id, conversation_id, created_at)
       select gen_random_uuid(), $1, r.organization_id, r.workspace_id, 'run', r.id, r.conversation_id, now() from runs r where r.id = $2`,
      [files[0]?.attachment_id, runId],
    );
    await client.query(`update runs set output = $1 where id = $2`, [
      JSON.stringify({ text: 'Two files.', json: null, attachments: files, truncated: false }),
      child,
    ]);
  });

  await settle(runId, callId);

  expect(await call(callId)).toMatchObject({ state: 'succeeded', output: { output: 'Two files.', attachments: files } });
  const held = await tree.one<{ count: number }>(
    `select count(*)::int as count from attachment_links where owner_kind = 'run' and owner_id = ?`,
    [runId],
  );
  expect(held.count).toBe(2);
});

test('what a failed child had said is cut like any result', async () => {
  const { runId, callId } = await asking();
  const child = await tree.openAndBegin(runId, callId);
  await tree.as(child, (tx) => finishRun(tx, { runId: child, reason: 'max_steps' }));
  await tree.as(child, async (tx) => {
    await tx.em.execute(
      `update runs set output = jsonb_build_object('text', repeat('x', 50000), 'json', null, 'attachments', '[]'::jsonb) where id = '${child}'`,
    );
  });

  await settle(runId, callId);

  const { state, output, error } = await call(callId);
  expect({ state, error }).toMatchObject({ state: 'failed', error: { reason: 'max_steps' } });
  expect(output).toMatchObject({ status: 'failed', output: 'x'.repeat(20_000) });
});
