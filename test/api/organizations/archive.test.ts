import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { sweep } from '../../../db/transaction.ts';
import { change, rows } from '../../../db/sql.ts';
import { workflowIds } from '../../../workflows/contracts/queues.ts';
import { makeAgent, openWorld, type World } from '../world.ts';

let world: World;

beforeAll(async () => {
  world = await openWorld();
});

afterAll(() => world.close());

const set = (sql: string, params: readonly unknown[]) => sweep(world.api.db, (em) => change(em, sql, params));
const archive = (token: string, id: string) => world.call(token, 'DELETE', `/workspaces/${id}`);
const restore = (token: string, id: string) => world.call(token, 'POST', `/workspaces/${id}/restore`);
const stopsOf = async (id: string) =>
  (await sweep(world.api.db, (em) => rows<object>(em, 'select id from outbox where target = ?', [workflowIds.wsStop(id)]))).length;
const entriesOf = (id: string) =>
  sweep(world.api.db, (em) =>
    rows<object>(
      em,
      `select operation_id, action, resource_type, changes from audit_entries
        where workspace_id = ? and operation_id in ('archiveWorkspace', 'restoreWorkspace') order by id`,
      [id],
    ),
  );

test('archive and restore are told to the work under way, once each, and asked again give the same', async () => {
  const { workspaceId, tokens } = await world.tenant();

  const archived = await archive(tokens.owner, workspaceId);
  const first = await world.call(tokens.viewer, 'GET', `/workspaces/${workspaceId}`);
  const again = await archive(tokens.owner, workspaceId);
  const second = await world.call(tokens.viewer, 'GET', `/workspaces/${workspaceId}`);
  const stops = await stopsOf(workspaceId);
  const restored = await restore(tokens.owner, workspaceId);
  const restoredAgain = await restore(tokens.owner, workspaceId);

  expect([archived.status, again.status, restored.status, restoredAgain.status]).toEqual([204, 204, 200, 200]);
  expect(first.body).toMatchObject({ is_active: false, archived_at: expect.any(String) });
  expect(second.body).toEqual(first.body);
  expect(stops).toBe(1);
  expect(restored.body).toMatchObject({ is_active: true, archived_at: null });
  expect(restoredAgain.body).toEqual(restored.body);
  expect(await stopsOf(workspaceId)).toBe(2);
  const common = { resource_type: 'workspace' };
  expect(await entriesOf(workspaceId)).toEqual([
    { ...common, operation_id: 'archiveWorkspace', action: 'delete', changes: { is_active: { from: true, to: false } } },
    { ...common, operation_id: 'archiveWorkspace', action: 'delete', changes: {} },
    { ...common, operation_id: 'restoreWorkspace', action: 'update', changes: { is_active: { from: false, to: true } } },
    { ...common, operation_id: 'restoreWorkspace', action: 'update', changes: {} },
  ]);
});

test('an archived workspace can be restored for as long as the settings say', async () => {
  const { organizationId, workspaceId, organizationOwner } = await world.tenant();
  await world.call(organizationOwner.token, 'PATCH', `/organizations/${organizationId}/settings`, {
    body: { workspace_retention_days: 8 },
  });

  await archive(organizationOwner.token, workspaceId);
  const days = await sweep(world.api.db, (em) =>
    rows<object>(em, 'select extract(day from purge_after - archived_at)::int as days from workspaces where id = ?', [workspaceId]),
  );
  await set("update workspaces set purge_after = now() - interval '1 second' where id = ?", [workspaceId]);

  expect(days).toEqual([{ days: 8 }]);
  expect(await restore(organizationOwner.token, workspaceId)).toMatchObject({ status: 404, body: { code: 'not_found' } });
});

test('nothing is written inside an archived workspace, which stays in the lists', async () => {
  const { workspaceId, organizationOwner, tokens } = await world.tenant();
  const agent = await makeAgent(world, tokens.admin);
  await archive(tokens.owner, workspaceId);

  const patch = await world.call(tokens.owner, 'PATCH', `/workspaces/${workspaceId}`, { body: { name: 'x' } });
  const inside = await world.call(tokens.admin, 'PATCH', `/agents/${agent.id}`, { body: { name: 'x' } });
  const list = await world.call(organizationOwner.token, 'GET', '/workspaces');
  await restore(tokens.owner, workspaceId);
  const after = await world.call(tokens.owner, 'PATCH', `/workspaces/${workspaceId}`, { body: { name: 'x' } });

  expect(patch).toMatchObject({ status: 423, body: { code: 'resource_frozen', context: { reason: 'workspace_archived' } } });
  expect(inside.status).toBe(423);
  expect(list.body.items).toMatchObject([{ id: workspaceId, is_active: false }]);
  expect(after.status).toBe(200);
});

test('a suspended organization still admits archive and restore, and no other change of a workspace', async () => {
  const { organizationId, workspaceId, organizationOwner } = await world.tenant();
  await set("update organizations set status = 'suspended' where id = ?", [organizationId]);
  const { token } = organizationOwner;

  expect(await world.call(token, 'PATCH', `/workspaces/${workspaceId}`, { body: {} })).toMatchObject({
    status: 423,
    body: { context: { reason: 'organization_suspended' } },
  });
  expect((await archive(token, workspaceId)).status).toBe(204);
  expect((await restore(token, workspaceId)).status).toBe(200);
});

test('only owners there archive', async () => {
  const { workspaceIds, organizationAdmin, organizationOwner, users, tokens } = await world.tenant({ workspaces: 2 });
  const [first = '', second = ''] = workspaceIds;
  await world.call(organizationOwner.token, 'PUT', `/workspaces/${second}/members/${users.owner.id}`, { body: { role: 'admin' } });

  for (const token of [tokens.admin, organizationAdmin.token]) {
    expect(await archive(token, first)).toMatchObject({ status: 403, body: { code: 'role_insufficient' } });
    expect(await restore(token, first)).toMatchObject({ status: 403, body: { code: 'role_insufficient' } });
  }
  expect(await archive(tokens.owner, second)).toMatchObject({ status: 403, body: { code: 'role_insufficient' } });
  expect((await archive(tokens.operator, second)).status).toBe(204);
});

test('parallel archives and changes end in one state', async () => {
  const { workspaceId, tokens } = await world.tenant();

  const answers = await Promise.all([
    ...Array.from({ length: 5 }, () => archive(tokens.owner, workspaceId)),
    ...Array.from({ length: 5 }, (_, n) => world.call(tokens.owner, 'PATCH', `/workspaces/${workspaceId}`, { body: { name: `N${n}` } })),
  ]);

  expect(answers.slice(0, 5).every(({ status }) => status === 204)).toBe(true);
  expect(answers.slice(5).every(({ status }) => status === 200 || status === 423)).toBe(true);
  expect(await stopsOf(workspaceId)).toBe(1);
});
