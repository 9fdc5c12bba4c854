import { afterAll, beforeAll, expect, test } from '@jest/globals';
import pg from 'pg';
import { makeTenant } from '../support/tenant.ts';
import { until } from '../support/temporal.ts';
import { openOperatorWorld, type OperatorWorld } from './operator-world.ts';
import { fillTables, tenantTables } from './row-samples.ts';
import { runUpkeep } from '../support/upkeep.ts';

/** What the log, the ledger and sweeps keep of a workspace. */
const outlive = ['audit_entries', 'outbox', 'usage_entries', 'usage_rollups'];

let world: OperatorWorld;
let admin: pg.Client;

beforeAll(async () => {
  world = await openOperatorWorld(['api', 'worker-bulk'], { isOwn: true });
  admin = new pg.Client({ connectionString: world.stack.adminUrl });
  await admin.connect();
  await until(() => hasSchedule());
});

afterAll(async () => {
  await admin?.end();
  await world?.close();
});

test('an archived workspace past its time is removed, also when its worker is killed; its people find another home or are erased', async () => {
  const { stack } = world;
  const tenant = await makeTenant(stack.db, stack.keys, { workspaces: 2, publicUrl: stack.url() });
  const [first = '', second = ''] = tenant.workspaceIds;
  const tables = tenantTables(stack.db).filter((table) => table !== 'purges');
  await fillTables(admin, tables, { organizationId: tenant.organizationId, workspaceId: first });
  await admin.query('delete from workspace_grants where organization_id = $1', [tenant.organizationId]);
  await admin.query("insert into workspace_grants (workspace_id, user_id, organization_id, role) values ($1, $2, $3, 'member')", [
    second,
    tenant.users.admin.id,
    tenant.organizationId,
  ]);
  await admin.query(
    `insert into login_failures (id, at, account_hash, organization_id, ip_truncated, reason) select gen_random_uuid(), now(), '\\x00', $1, '', 'password'`,
    [tenant.organizationId],
  );
  await admin.query(
    `insert into invitations (id, organization_id, workspace_id, scope, email, role, token_hash, expires_at)
     values (gen_random_uuid(), $1, $2, 'workspace', $3, 'viewer', '\\x00', now())`,
    [tenant.organizationId, second, tenant.users.viewer.email],
  );
  await admin.query(
    "update workspaces set is_active = false, archived_at = now() - interval '91 days', purge_after = now() where id = $1",
    [first],
  );
  await admin.query("update workspaces set is_active = false, archived_at = now(), purge_after = now() + interval '1 day' where id = $1", [
    world.stack.tenant.workspaceId,
  ]);

  const cached = await world.cacheFrames('workspace_id', first);

  await trigger();
  await stack.kill('worker-bulk', 'SIGKILL');
  await stack.start('worker-bulk');
  await until(async () => !(await exists('workspaces', first)));

  const left: string[] = [];
  for (const table of tables.filter((name) => !outlive.includes(name))) {
    const columns = await admin.query("select from information_schema.columns where table_name = $1 and column_name = 'workspace_id'", [
      table,
    ]);
    if (columns.rowCount && (await admin.query(`select from ${table} where workspace_id = $1 limit 1`, [first])).rowCount) left.push(table);
  }
  expect(left).toEqual([]);
  expect(await cached()).toBe(0);
  expect(await exists('workspaces', second)).toBe(true);
  expect(await exists('workspaces', world.stack.tenant.workspaceId)).toBe(true);
  const people = await admin.query(
    'select id, role, workspace_id, is_active, email, deleted_at is not null as gone from users where id = any ($1)',
    [[tenant.users.admin.id, tenant.users.viewer.id, tenant.organizationOwner.id]],
  );
  expect(people.rows).toEqual(
    expect.arrayContaining([
      { id: tenant.users.admin.id, role: 'member', workspace_id: second, is_active: true, email: tenant.users.admin.email, gone: false },
      { id: tenant.users.viewer.id, role: 'viewer', workspace_id: null, is_active: false, email: '', gone: true },
      {
        id: tenant.organizationOwner.id,
        role: 'owner',
        workspace_id: null,
        is_active: true,
        email: tenant.organizationOwner.email,
        gone: false,
      },
    ]),
  );
  const entries = await admin.query("select actor_kind, organization_id from audit_entries where action = 'purge' and resource_id = $1", [
    first,
  ]);
  expect(entries.rows).toEqual([{ actor_kind: 'system', organization_id: tenant.organizationId }]);
  const noted = await admin.query<{ action: string; resource_id: string; changes: object }>(
    "select action, resource_id, changes from audit_entries where actor_kind = 'system' and resource_type = 'user' and organization_id = $1 and resource_id = any ($2)",
    [tenant.organizationId, [tenant.users.admin.id, tenant.users.viewer.id]],
  );
  expect(noted.rows.toSorted((left, right) => (left.action < right.action ? -1 : 1))).toEqual([
    { action: 'delete', resource_id: tenant.users.viewer.id, changes: {} },
    { action: 'update', resource_id: tenant.users.admin.id, changes: { workspace_id: { from: first, to: second } } },
  ]);
  const invited = await admin.query('select id from invitations where email = $1', [tenant.users.viewer.email]);
  expect(invited.rows).toEqual([]);
  const alive = await stack.request('GET', '/auth/me', { credential: tenant.users.admin.token });
  expect(alive).toMatchObject({ status: 200, body: { workspace_id: second, role: 'member' } });
  expect((await stack.request('GET', '/auth/me', { credential: tenant.users.viewer.token })).status).toBe(401);
});

test('an organization past its grace is purged by itself; one that was resumed, or still has time, is not', async () => {
  const { stack } = world;
  const [due, resumed, early] = await Promise.all([1, 2, 3].map(() => makeTenant(stack.db, stack.keys)));
  const set = (tenant: typeof due, status: string, after: string | null) =>
    admin.query('update organizations set status = $2, delete_after = now() + $3::interval where id = $1', [
      tenant?.organizationId,
      status,
      after,
    ]);
  await set(due, 'deleting', '-1 minute');
  await set(resumed, 'active', null);
  await set(early, 'deleting', '1 day');

  await trigger();
  await until(async () => (await stateOf(due?.organizationId))?.['gone'] === true);

  expect(await stateOf(resumed?.organizationId)).toEqual({ status: 'active', gone: false });
  expect(await stateOf(early?.organizationId)).toEqual({ status: 'deleting', gone: false });
  const entries = await admin.query(
    "select actor_kind, organization_id, changes -> 'reason' ->> 'to' as reason from audit_entries where action = 'purge' and resource_id = $1",
    [due?.organizationId],
  );
  expect(entries.rows).toEqual([{ actor_kind: 'system', organization_id: null, reason: 'delete_after has passed' }]);
});

function trigger(): Promise<void> {
  return runUpkeep(world.stack.temporal, 'ws-purge');
}

function hasSchedule(): Promise<boolean> {
  return world.stack.temporal.client.schedule
    .getHandle('maint:ws-purge')
    .describe()
    .then(
      () => true,
      () => false,
    );
}

async function exists(table: string, id: string): Promise<boolean> {
  return (await admin.query(`select from ${table} where id = $1`, [id])).rowCount === 1;
}

async function stateOf(id: string | undefined): Promise<Record<string, unknown> | undefined> {
  const { rows } = await admin.query<Record<string, unknown>>(
    'select status, purged_at is not null as gone from organizations where id = $1',
    [id],
  );
  return rows[0];
}
