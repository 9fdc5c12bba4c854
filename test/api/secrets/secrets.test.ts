import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { pino } from 'pino';
import { newId } from '../../../db/ids.ts';
import { sweep } from '../../../db/transaction.ts';
import { change, rows } from '../../../db/sql.ts';
import { makeUser, type TestTenant } from '../../support/tenant.ts';
import { openWorld, type World } from '../world.ts';

let world: World;

beforeAll(async () => {
  world = await openWorld();
});
afterAll(() => world.close());

const ask = <T>(sql: string, params: readonly unknown[] = []) => sweep(world.api.db, (em) => rows<T>(em, sql, params));
const set = (sql: string, params: readonly unknown[] = []) => sweep(world.api.db, (em) => change(em, sql, params));
const put = (token: string, name: string, body: object, headers: Record<string, string> = {}) =>
  world.call(token, 'PUT', `/secrets/${name}`, { body, headers });
const names = async (token: string, query = '') =>
  (await world.call(token, 'GET', `/secrets${query}`)).body.items.map(
    (item: { name: string; scope: string }) => `${item.scope} ${item.name}`,
  );
const narrowed = ({ organizationId }: TestTenant) => ({ 'x-view-organization': organizationId });

/** A tool as the area of tools will write it. */
async function makeTool(place: { scope: string; organizationId: string | null; workspaceId: string | null }, required: string[]) {
  const id = newId();
  await set(
    `insert into tools (id, scope, organization_id, workspace_id, slug, kind, description, input_schema, concurrency, effect, secrets_required)
     values (?, ?, ?, ?, ?, 'http', 'x', '{}', 'read', 'read', ?)`,
    [id, place.scope, place.organizationId, place.workspaceId, `tool-${id}`, required],
  );
  return id;
}

test('putSecret makes and replaces a value, counts it, and no reply ever holds it', async () => {
  const { tokens, users, workspaceId, organizationId } = await world.tenant();
  const value = `canary-${newId()}`;

  const made = await put(tokens.admin, 'Api.key-1', { value, description: 'of the weather' });
  const replaced = await put(tokens.owner, 'Api.key-1', { value: `${value}-2` });
  const cleared = await put(tokens.admin, 'Api.key-1', { value, description: null });
  const listed = await world.call(tokens.member, 'GET', '/secrets');

  expect(made).toMatchObject({
    status: 200,
    body: {
      name: 'Api.key-1',
      scope: 'workspace',
      organization_id: organizationId,
      workspace_id: workspaceId,
      description: 'of the weather',
      value_version: 1,
      updated_by_user_id: users.admin.id,
      last_used_at: null,
    },
  });
  expect(replaced.body).toMatchObject({
    id: made.body.id,
    value_version: 2,
    description: 'of the weather',
    updated_by_user_id: users.owner.id,
    created_at: made.body.created_at,
  });
  expect(cleared.body).toMatchObject({ value_version: 3, description: null });
  expect(listed.body.items).toEqual([cleared.body]);
  for (const { body } of [made, replaced, cleared, listed]) expect(JSON.stringify(body)).not.toContain(value);
});

test('a value is in clear in no row of the database', async () => {
  const { tokens } = await world.tenant();
  const value = `canary-${newId()}`;
  await put(tokens.admin, 'dumped', { value });

  const tables = await ask<{ name: string }>("select tablename as name from pg_tables where schemaname = 'public'");
  for (const { name } of tables) {
    const found = await ask(`select from ${name} t where position(? in t::text) > 0 or position(encode(?::bytea, 'hex') in t::text) > 0`, [
      value,
      Buffer.from(value),
    ]);
    expect({ name, found }).toEqual({ name, found: [] });
  }
});

test('a value is in no log line, however much is logged, and in no refusal', async () => {
  const lines: string[] = [];
  const logged = await openWorld({ log: pino({ level: 'trace' }, { write: (line: string) => lines.push(line) }) });
  const { tokens } = await logged.tenant();
  const value = `canary-${newId()}`;
  const ask = (name: string, body: object) => logged.call(tokens.admin, 'PUT', `/secrets/${name}`, { body });

  const replies = [
    await ask('logged', { value }),
    await ask('logged', { value, scope: 'organization' }),
    await ask('logged', { value: value.repeat(400) }),
    await ask('logged', { value, [value]: 1 }),
    await ask('logged', { value, description: 7 }),
  ];
  await logged.close();

  expect(replies.map(({ status }) => status)).toEqual([200, 403, 422, 422, 422]);
  expect(lines.length).toBeGreaterThan(0);
  expect(lines.join('')).not.toContain(value);
  for (const { body } of [0, 1, 2, 4].map((at) => replies[at] ?? replies[0]).filter((reply) => reply !== undefined))
    expect(JSON.stringify(body)).not.toContain(value);
});

test('two values at once are one row with two versions', async () => {
  const { tokens } = await world.tenant();

  const replies = await Promise.all(Array.from({ length: 8 }, (_, at) => put(tokens.admin, 'at_once', { value: `v${at}` })));

  expect(replies.map(({ status }) => status)).toEqual(Array.from({ length: 8 }, () => 200));
  expect(new Set(replies.map(({ body }) => body.id)).size).toBe(1);
  expect(replies.map(({ body }) => body.value_version).toSorted()).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
});

test('each place has its own value of a name; a scope that is left out is the own one, a wider one is refused', async () => {
  const tenant = await world.tenant({ workspaces: 2 });
  const { tokens, organizationAdmin, workspaceIds } = tenant;
  const second = workspaceIds[1] ?? '';

  const replies = [
    await put(tokens.admin, 'k', { value: 'a' }),
    await put(organizationAdmin.token, 'k', { value: 'b' }),
    await put(organizationAdmin.token, 'k', { value: 'c', workspace_id: second }),
    await put(tokens.operator, `p-${tenant.organizationId}`, { value: 'd' }),
    await put(tokens.operator, 'k', { value: 'e' }, narrowed(tenant)),
  ];
  expect(replies.map(({ body }) => [body.scope, body.workspace_id, body.value_version])).toEqual([
    ['workspace', workspaceIds[0], 1],
    ['organization', null, 1],
    ['workspace', second, 1],
    ['platform', null, 1],
    ['organization', null, 2],
  ]);

  const refused = [
    await put(tokens.admin, 'k', { value: 'x', scope: 'organization' }),
    await put(organizationAdmin.token, 'k', { value: 'x', scope: 'platform' }),
    await put(tokens.operator, 'k', { value: 'x', scope: 'platform' }, narrowed(tenant)),
  ];
  expect(refused.map(({ status, body }) => [status, body.code, body.context.reason])).toEqual(
    refused.map(() => [403, 'role_insufficient', 'scope_too_wide']),
  );
});

test('names and values outside their bounds are 422, members may only read', async () => {
  const { tokens } = await world.tenant();

  for (const name of ['1a', '-a', 'a%20b', 'a%2Fb', '..%2Fa', 'a'.repeat(101)])
    expect((await put(tokens.admin, name, { value: 'x' })).status).toBe(422);
  for (const body of [{}, { value: '' }, { value: 'x'.repeat(16_385) }, { value: null }, { value: 'x', description: 'x'.repeat(501) }])
    expect((await put(tokens.admin, 'a', body)).status).toBe(422);
  expect((await put(tokens.admin, 'a'.repeat(100), { value: 'ä'.repeat(16_384) })).status).toBe(200);
  expect((await put(tokens.member, 'a', { value: 'x' })).status).toBe(403);
  expect((await world.call(tokens.viewer, 'GET', '/secrets')).status).toBe(403);
});

test('listSecrets is in order of names, pages, and filters by letters, scope and workspace', async () => {
  const { tokens, organizationAdmin, workspaceIds } = await world.tenant({ workspaces: 2 });
  const second = workspaceIds[1] ?? '';
  for (const name of ['b_two', 'A_one', 'c%three']) {
    if (/^[A-Za-z][\w.-]*$/.test(name)) await put(organizationAdmin.token, name, { value: 'x', workspace_id: second });
  }
  await put(organizationAdmin.token, 'shared', { value: 'x' });
  await put(tokens.admin, 'mine', { value: 'x' });

  const own = (await names(organizationAdmin.token)).filter((name: string) => !name.startsWith('platform'));
  const first = await world.call(organizationAdmin.token, 'GET', `/secrets?limit=1&workspace_id=${second}`);
  const next = await world.call(organizationAdmin.token, 'GET', `/secrets?limit=1&workspace_id=${second}&cursor=${first.body.next_cursor}`);

  expect(own.map((name: string) => name.split(' ')[1])).toEqual(
    ['A_one', 'b_two', 'mine', 'shared'].toSorted((a, b) => a.localeCompare(b)),
  );
  expect([first.body.items[0].name, next.body.items[0].name, next.body.next_cursor]).toEqual(['A_one', 'b_two', null]);
  expect(await names(organizationAdmin.token, '?q=ONE')).toEqual(['workspace A_one']);
  expect(await names(organizationAdmin.token, '?q=%25')).toEqual([]);
  expect(await names(organizationAdmin.token, '?scope=organization')).toEqual(['organization shared']);
  expect((await names(tokens.member)).filter((name: string) => !name.startsWith('platform'))).toEqual([
    'workspace mine',
    'organization shared',
  ]);
});

test('a place that is not seen is unknown: foreign workspaces and values are neither read, written nor deleted', async () => {
  const [a, b] = [await world.tenant(), await world.tenant()];
  await put(b.tokens.admin, 'theirs', { value: 'x' });

  const asOrganization = a.organizationAdmin.token;
  for (const workspaceId of [b.workspaceId, newId()]) {
    expect((await put(asOrganization, 'theirs', { value: 'y', workspace_id: workspaceId })).body.errors).toMatchObject([
      { rule: 'reference' },
    ]);
    expect((await world.call(asOrganization, 'DELETE', `/secrets/theirs?workspace_id=${workspaceId}`)).status).toBe(404);
    expect(await names(asOrganization, `?workspace_id=${workspaceId}`)).toEqual([]);
  }
  expect(await names(a.tokens.admin)).not.toContain('workspace theirs');
  expect(await ask("select value_version from secrets where name = 'theirs'")).toEqual([{ value_version: 1 }]);
});

test('in a workspace granted below the floor secrets are left out of lists and refused by name', async () => {
  const { tokens, users, organizationId, workspaceIds, organizationAdmin } = await world.tenant({ workspaces: 2 });
  const second = workspaceIds[1] ?? '';
  await put(organizationAdmin.token, 'granted', { value: 'x', workspace_id: second });
  const grant = (role: string) =>
    set(
      `insert into workspace_grants (workspace_id, user_id, organization_id, role) values (?, ?, ?, ?)
       on conflict (workspace_id, user_id) do update set role = excluded.role`,
      [second, users.admin.id, organizationId, role],
    );

  await grant('viewer');
  expect(await names(tokens.admin)).not.toContain('workspace granted');
  await grant('member');
  expect(await names(tokens.admin)).toContain('workspace granted');
  expect((await put(tokens.admin, 'granted', { value: 'y', workspace_id: second })).body.code).toBe('role_insufficient');
  expect((await world.call(tokens.admin, 'DELETE', `/secrets/granted?workspace_id=${second}`)).body.code).toBe('role_insufficient');
  await grant('admin');
  expect((await put(tokens.admin, 'granted', { value: 'y', workspace_id: second })).status).toBe(200);
});

test('deleteSecret takes one place alone; a wider one is forbidden, an absent one 404', async () => {
  const { tokens, organizationAdmin, workspaceId } = await world.tenant();
  await put(tokens.admin, 'k', { value: 'a' });
  await put(organizationAdmin.token, 'k', { value: 'b' });
  const del = (token: string, query = '') => world.call(token, 'DELETE', `/secrets/k${query}`);

  expect((await del(tokens.admin, '?scope=organization')).body).toMatchObject({ status: 403, context: { reason: 'scope_too_wide' } });
  expect((await del(organizationAdmin.token, `?scope=organization&workspace_id=${workspaceId}`)).body.errors).toMatchObject([
    { in: 'query', name: 'workspace_id', rule: 'range' },
  ]);
  expect((await del(tokens.operator, '?scope=organization')).body.errors).toMatchObject([{ in: 'query', name: 'scope', rule: 'range' }]);
  expect((await del(tokens.member)).status).toBe(403);
  expect((await del(tokens.admin)).status).toBe(204);
  expect((await del(tokens.admin)).status).toBe(404);
  expect(await names(organizationAdmin.token, '?q=k&scope=organization')).toEqual(['organization k']);
  expect((await del(organizationAdmin.token)).status).toBe(204);
});

test('while a tool needs it and would find no other, deleteSecret is 409 and names the tools', async () => {
  const { tokens, organizationAdmin, organizationId, workspaceId } = await world.tenant();
  await put(tokens.admin, 'needed', { value: 'a' });
  const own = await makeTool({ scope: 'workspace', organizationId, workspaceId }, ['needed', 'more']);
  const shared = await makeTool({ scope: 'organization', organizationId, workspaceId: null }, ['needed']);
  const del = (token = tokens.admin) => world.call(token, 'DELETE', '/secrets/needed');

  expect((await del()).body).toMatchObject({
    status: 409,
    code: 'state_conflict',
    context: { reason: 'still_referenced', used_by: [own, shared].toSorted() },
  });
  // The organization's value serves the organization's tool, and never that of the workspace.
  await put(organizationAdmin.token, 'needed', { value: 'b' });
  expect((await del()).body.context.used_by).toEqual([own]);
  await set('update tools set deleted_at = now() where id = ?', [own]);
  expect((await del()).status).toBe(204);
  expect((await del(organizationAdmin.token)).body.context.used_by).toEqual([shared]);
  await set(
    "insert into secrets (id, scope, organization_id, tool_id, name, value_envelope) values (?, 'organization', ?, ?, 'needed', '')",
    [newId(), organizationId, shared],
  );
  expect((await del(organizationAdmin.token)).status).toBe(204);
});

test('in a frozen tenant nothing is put, while deletion stays open; nobody who acts as another puts', async () => {
  const { tokens, users, organizationId } = await world.tenant();
  await put(tokens.admin, 'k', { value: 'a' });

  const acting = await put(tokens.owner, 'k', { value: 'b' }, { 'x-acting-user': users.admin.id });
  await set("update organizations set status = 'suspended' where id = ?", [organizationId]);

  expect(acting.body).toMatchObject({ status: 403, code: 'resource_forbidden' });
  expect((await put(tokens.admin, 'k', { value: 'b' })).body).toMatchObject({ status: 423, code: 'resource_frozen' });
  expect((await world.call(tokens.admin, 'DELETE', '/secrets/k')).status).toBe(204);
  expect((await world.call(tokens.member, 'GET', '/secrets')).status).toBe(200);
  await set("update organizations set status = 'active' where id = ?", [organizationId]);
  await put(tokens.admin, 'k', { value: 'b' });
  await set('update workspaces set is_active = false where organization_id = ?', [organizationId]);
  expect((await put(tokens.admin, 'k', { value: 'b' })).status).toBe(423);
  expect((await world.call(tokens.admin, 'DELETE', '/secrets/k')).status).toBe(204);
  expect((await ask('select from secrets where organization_id = ?', [organizationId])).length).toBe(0);
});

test('each change has one audit entry, without a value', async () => {
  const { tokens, organizationId, workspaceId } = await world.tenant();
  const value = `canary-${newId()}`;
  const made = await put(tokens.admin, 'k', { value, description: 'first' });
  await put(tokens.admin, 'k', { value, description: 'second' });
  await world.call(tokens.admin, 'DELETE', '/secrets/k');

  const entries = await ask<{ changes: unknown }>(
    `select action, resource_type, resource_id, resource_label, organization_id, workspace_id, changes from audit_entries
     where resource_id = ? order by created_at`,
    [made.body.id],
  );
  const common = {
    resource_type: 'secret',
    resource_id: made.body.id,
    resource_label: 'k',
    organization_id: organizationId,
    workspace_id: workspaceId,
  };
  expect(entries).toEqual([
    {
      ...common,
      action: 'update',
      changes: { value: { changed: true }, value_version: { from: null, to: 1 }, description: { from: null, to: 'first' } },
    },
    {
      ...common,
      action: 'update',
      changes: { value: { changed: true }, value_version: { from: 1, to: 2 }, description: { from: 'first', to: 'second' } },
    },
    { ...common, action: 'delete', changes: {} },
  ]);
  expect(JSON.stringify(entries)).not.toContain(value);
});

test('a name that somebody gave in the platform is shown to every tenant, and changed by none', async () => {
  const { tokens, organizationAdmin } = await world.tenant();
  const name = `platform-${newId()}`;
  await put(tokens.operator, name, { value: 'x' });
  const viewerElsewhere = await makeUser(world.api.db, world.api.keys, {
    role: 'member',
    scope: 'organization',
    organizationId: (await world.tenant()).organizationId,
    workspaceId: null,
  });

  expect(await names(viewerElsewhere.token, `?q=${name}`)).toEqual([`platform ${name}`]);
  expect((await world.call(organizationAdmin.token, 'DELETE', `/secrets/${name}?scope=platform`)).status).toBe(403);
  expect((await world.call(organizationAdmin.token, 'DELETE', `/secrets/${name}`)).status).toBe(404);
  expect((await world.call(tokens.operator, 'DELETE', `/secrets/${name}`)).status).toBe(204);
});
