import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { change } from '../../../db/sql.ts';
import { sweep } from '../../../db/transaction.ts';
import { resolveApprovals } from '../../../domain/approvals/resolve.ts';
import { askedRun, openGates, withRun } from '../../approvals/asked-run.ts';
import { makeAsked, openTreeWorld, type TreeWorld } from '../../sub-agents/tree.ts';
import { withAdmin } from '../../support/template.ts';
import { until } from '../../support/temporal.ts';
import { isOfRequest } from '../../support/statements.ts';
import { openWorld } from '../world.ts';

const statements: string[] = [];
let tree: TreeWorld;

beforeAll(async () => {
  tree = await openTreeWorld(await openWorld({ onQuery: (sql) => statements.push(sql) }));
});

afterAll(() => tree?.close());

const tokens = () => tree.tenant.tokens;
const list = (token: string, runId: string, query = '') => tree.world.call(token, 'GET', `/runs/${runId}/approvals${query}`);
const resolve = (token: string, runId: string, resolutions: readonly object[]) =>
  tree.world.call(token, 'POST', `/runs/${runId}/approvals`, { body: { resolutions } });
const run = (sql: string, params: unknown[]) => sweep(tree.world.api.db, (em) => change(em, sql, params));

test('viewers read questions and answer none; a foreign run is 404, a foreign question of the body a broken reference', async () => {
  const { runId, approvalIds } = await askedRun(tree);
  const other = await tree.world.tenant();
  const approve = [{ approval_id: approvalIds[0], decision: 'approve' }];
  const theirs = await askedRun(tree);

  expect(await list(tokens().viewer, runId)).toMatchObject({ status: 200, body: { items: [{ id: approvalIds[0], status: 'pending' }] } });
  expect(await resolve(tokens().viewer, runId, approve)).toMatchObject({ status: 403, body: { code: 'role_insufficient' } });
  expect((await list(other.tokens.owner, runId)).status).toBe(404);
  expect((await resolve(other.tokens.owner, runId, approve)).status).toBe(404);
  expect(await resolve(tokens().admin, theirs.runId, approve)).toMatchObject({
    status: 422,
    body: { errors: [{ pointer: '/resolutions/0/approval_id', rule: 'reference' }] },
  });
});

test('an archived workspace takes no answer', async () => {
  const { runId, approvalIds } = await askedRun(tree);
  await run('update workspaces set is_active = false where id = ?', [tree.tenant.workspaceId]);

  const refused = await resolve(tokens().admin, runId, [{ approval_id: approvalIds[0], decision: 'approve' }]);
  await run('update workspaces set is_active = true where id = ?', [tree.tenant.workspaceId]);

  expect(refused).toMatchObject({ status: 423, body: { code: 'resource_frozen' } });
  expect((await list(tokens().viewer, runId, '?status=pending')).body.items).toHaveLength(1);
});

test('a critical tool is decided by admins alone, whatever else the request holds', async () => {
  const critical = await askedRun(tree, { tool: { critical: true }, approval: 'default' });
  const approve = [{ approval_id: critical.approvalIds[0], decision: 'approve' }];

  const refused = await resolve(tokens().member, critical.runId, approve);
  const denied = await tree.world.call(tokens().member, 'POST', `/runs/${critical.runId}/input`, {
    body: { kind: 'message', text: 'Rather not.', deny_pending: true },
  });
  const pending = await list(tokens().viewer, critical.runId, '?status=pending');
  const approved = await resolve(tokens().admin, critical.runId, approve);

  expect([refused.status, denied.status]).toEqual([403, 403]);
  expect(pending.body.items).toMatchObject([{ critical: true, approver_floor: 'admin', args: { n: 1 } }]);
  expect(approved).toMatchObject({
    status: 200,
    body: { applied: 1, items: [{ resolved_by: { kind: 'user', id: tree.tenant.users.admin.id } }] },
  });
});

test('deny_pending rejects what is pending before the message joins', async () => {
  const { runId, approvalIds } = await askedRun(tree, { args: [1, 2] });

  const added = await tree.world.call(tokens().member, 'POST', `/runs/${runId}/input`, {
    body: { kind: 'message', text: 'Stop that.', deny_pending: true },
  });
  const all = await list(tokens().viewer, runId);

  expect(added).toMatchObject({ status: 202, body: { status: 'running', pending_approvals: 0 } });
  expect(all.body.items.map((item: { id: string; status: string }) => [item.id, item.status]).toSorted()).toEqual(
    approvalIds.map((id) => [id, 'rejected']).toSorted(),
  );
});

test('deny_pending leaves alone what is answered at the same moment, and the message joins', async () => {
  const { runId, approvalIds } = await askedRun(tree, { args: [1, 2] });
  const resolutions = [{ approval_id: approvalIds[0] ?? '', decision: 'approve' as const }];
  const by = { kind: 'system' as const, id: null };
  const asAnybody = { keys: tree.world.api.deps.keys, refuseBelow: () => undefined, validate: async () => [] };

  const added = await withRun(tree, runId, async (tx) => {
    const waiting = tree.world.call(tokens().member, 'POST', `/runs/${runId}/input`, {
      body: { kind: 'message', text: 'Stop that.', deny_pending: true },
    });
    await withAdmin(tree.world.api.database.adminUrl, (admin) => {
      const sql = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query like 'with "asked" as%'`;
      return until(async () => (await admin.query(sql)).rowCount === 1);
    });
    await resolveApprovals(tx, { runId, resolutions, by, ...asAnybody });
    return { waiting };
  });

  expect(await added.waiting).toMatchObject({ status: 202 });
  const { items } = (await list(tokens().viewer, runId)).body;
  expect(new Map(items.map((item: { id: string; status: string }) => [item.id, item.status]))).toEqual(
    new Map([
      [approvalIds[0], 'approved'],
      [approvalIds[1], 'rejected'],
    ]),
  );
});

test('a question whose time is over can not be answered, whether that has been noted or not', async () => {
  const { runId, approvalIds } = await askedRun(tree);
  await run(`update approvals set expires_at = now() - interval '1 second' where id = ?`, [approvalIds[0]]);
  const answer = () => resolve(tokens().admin, runId, [{ approval_id: approvalIds[0], decision: 'approve' }]);

  const unnoted = await answer();
  await openGates(tree, runId);
  const noted = await answer();

  for (const refused of [unnoted, noted]) expect(refused).toMatchObject({ status: 409, body: { context: { reason: 'approval_expired' } } });
  expect((await list(tokens().viewer, runId)).body.items).toMatchObject([{ status: 'expired', resolved_by: null }]);
});

test('ancestors list and answer what descendants ask; the descendant’s own page has no more', async () => {
  const leafTool = await askedRun(tree); // its tool serves the leaf as well
  const { slug } = await tree.one<{ slug: string }>('select slug from tool_calls where run_id = ?', [leafTool.runId]);
  const leaf = await makeAsked(tree, { tools: [{ slug, approval: 'always' }] });
  const top = await makeAsked(tree, { sub_agents: [{ slug: leaf.slug }] });
  const rootId = await tree.begin(top.id);
  const [delegate = ''] = await tree.ask(rootId, [{ slug: leaf.ask, args: { task: 'Do it.' } }]);
  const childId = await tree.openAndBegin(rootId, delegate);
  await tree.ask(childId, [{ slug, args: { n: 3 } }]);
  await openGates(tree, childId);

  const onRoot = await list(tokens().viewer, rootId);
  const root = await tree.world.call(tokens().viewer, 'GET', `/runs/${rootId}`);
  const answered = await resolve(tokens().member, rootId, [{ approval_id: onRoot.body.items[0]?.id, decision: 'approve' }]);
  const child = await tree.world.call(tokens().viewer, 'GET', `/runs/${childId}`);

  expect(onRoot.body.items).toMatchObject([{ run_id: childId, root_run_id: rootId, args: { n: 3 } }]);
  expect((await list(tokens().viewer, childId)).body.items).toHaveLength(1);
  expect(root.body).toMatchObject({ status: 'waiting', waiting_on: 'approval', pending_approvals: 1 });
  expect(answered).toMatchObject({ status: 200, body: { run: { id: rootId, status: 'running', pending_approvals: 0 } } });
  expect(child.body).toMatchObject({ status: 'running', pending_approvals: 0 });
});

test('questions are paged newest first and filtered; a page takes two queries', async () => {
  const { runId, approvalIds } = await askedRun(tree, { args: [1, 2, 3] });
  await resolve(tokens().member, runId, [{ approval_id: approvalIds[1], decision: 'reject' }]);

  const first = await list(tokens().viewer, runId, '?limit=2');
  const rest = await list(tokens().viewer, runId, `?limit=2&cursor=${first.body.next_cursor}`);
  statements.length = 0;
  const pending = await list(tokens().viewer, runId, '?status=pending');
  const own = statements.filter(isOfRequest);

  const ids = [...first.body.items, ...rest.body.items].map((item: { id: string }) => item.id);
  expect(ids).toEqual(approvalIds.toReversed());
  expect(pending.body.items.map((item: { id: string }) => item.id)).toEqual([approvalIds[2], approvalIds[0]]);
  expect(own).toHaveLength(2);
  expect((await list(tokens().viewer, runId, '?status=perhaps')).status).toBe(422);
});

test('an answer is audited once, a repeated one not again, and a repeat under its key is byte for byte the same', async () => {
  const { runId, approvalIds } = await askedRun(tree);
  const options = {
    body: { resolutions: [{ approval_id: approvalIds[0], decision: 'approve', comment: 'Go.' }] },
    headers: { 'idempotency-key': crypto.randomUUID() },
  };
  const send = (more: object = {}) => tree.world.call(tokens().member, 'POST', `/runs/${runId}/approvals`, { ...options, ...more });

  const [first, repeated] = [await send(), await send()];
  const again = await send({ headers: {} });
  const { notes } = await tree.one<{ notes: number }>(
    `select count(*)::int as notes from audit_entries where action = 'approve' and resource_id = ?`,
    [runId],
  );

  expect(repeated.body).toEqual(first.body);
  expect(again).toMatchObject({ status: 200, body: { applied: 0, unchanged: 1 } });
  expect(notes).toBe(1);
});
