import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { newId } from '../../../db/ids.ts';
import { sweep } from '../../../db/transaction.ts';
import { change } from '../../../db/sql.ts';
import { tick } from '../../db/audit-log.ts';
import { openWorld, type Answer, type World } from '../world.ts';

let world: World;

beforeAll(async () => {
  world = await openWorld();
});
afterAll(() => world.close());

const set = (sql: string, params: readonly unknown[] = []) => sweep(world.api.db, (em) => change(em, sql, params));
const list = (token: string, query = '', headers = {}) => world.call(token, 'GET', `/audit-log${query}`, { headers });
const labels = ({ body }: Answer): string[] => body.items.map((item: { resource_label: string }) => item.resource_label);

interface Entry {
  readonly label: string;
  readonly organizationId: string | null;
  readonly workspaceId?: string | null;
  readonly actorId?: string;
  readonly actingUserId?: string;
  readonly action?: string;
  readonly resourceType?: string;
  readonly resourceId?: string;
  readonly ageS?: number;
}

async function write(entry: Entry): Promise<string> {
  const id = newId();
  await set(
    `insert into audit_entries (id, organization_id, workspace_id, actor_kind, actor_id, acting_user_id, action, resource_type, resource_id, resource_label, created_at)
     values (?, ?, ?, 'user', ?, ?, ?, ?, ?, ?, clock_timestamp() - make_interval(secs => ?::float8))`,
    [
      id,
      entry.organizationId,
      entry.workspaceId ?? null,
      entry.actorId ?? null,
      entry.actingUserId ?? null,
      entry.action ?? 'update',
      entry.resourceType ?? 'thing',
      entry.resourceId ?? null,
      entry.label,
      entry.ageS ?? 0,
    ],
  );
  return id;
}

test('a change is one entry: who, as whom, what, where from; numbered once it is sealed', async () => {
  const { tokens, users, organizationId, workspaceId } = await world.tenant();
  const made = await world.call(tokens.admin, 'PUT', '/secrets/k', {
    body: { value: 'x' },
    headers: { 'user-agent': 'agent of the test' },
  });

  const listed = await list(tokens.admin, '?resource_type=secret');
  const [entry] = listed.body.items;
  const read = await world.call(tokens.admin, 'GET', `/audit-log/${entry.id}`);

  expect(listed.body.items).toHaveLength(1);
  expect(entry).toEqual({
    id: entry.id,
    created_at: entry.created_at,
    organization_id: organizationId,
    workspace_id: workspaceId,
    actor_kind: 'user',
    actor_id: users.admin.id,
    actor_role: 'admin',
    acting_user_id: null,
    impersonation_id: null,
    action: 'update',
    resource_type: 'secret',
    resource_id: made.body.id,
    resource_label: 'k',
    outcome: 'success',
    changes: { value: { changed: true }, value_version: { from: null, to: 1 } },
    operation_id: 'putSecret',
    correlation_id: made.headers['x-correlation-id'],
    ip: '127.0.0.1',
    user_agent: 'agent of the test',
    seq: null,
    sealed: false,
  });
  expect(read).toMatchObject({ status: 200, body: entry });

  await set("update audit_entries set created_at = created_at - interval '1 minute' where id = ?", [entry.id]);
  await tick(world.api.db, world.api.keys);
  expect((await world.call(tokens.admin, 'GET', `/audit-log/${entry.id}`)).body).toMatchObject({ seq: 1, sealed: true });
});

test('entries are read by workspace; those without one only by callers of the whole organization', async () => {
  const [a, b] = [await world.tenant({ workspaces: 2 }), await world.tenant()];
  const { organizationId, workspaceIds } = a;
  const ids = {
    first: await write({ label: 'first', organizationId, workspaceId: workspaceIds[0] }),
    second: await write({ label: 'second', organizationId, workspaceId: workspaceIds[1] }),
    whole: await write({ label: 'whole', organizationId }),
    foreign: await write({ label: 'foreign', organizationId: b.organizationId, workspaceId: b.workspaceId }),
    platform: await write({ label: 'platform', organizationId: null }),
  };
  const get = async (token: string, id: string, headers = {}) => (await world.call(token, 'GET', `/audit-log/${id}`, { headers })).status;
  const readable = async (token: string, headers = {}) => {
    const statuses = await Promise.all(Object.values(ids).map((id) => get(token, id, headers)));
    const shown = labels(await list(token, '?resource_type=thing', headers)).filter((label) => label in ids);
    const read = Object.keys(ids).filter((_, at) => statuses[at] === 200);
    expect(read.toSorted()).toEqual(shown.toSorted());
    return read;
  };

  expect(await readable(a.tokens.admin)).toEqual(['first']);
  expect(await readable(a.tokens.owner)).toEqual(['first']);
  expect(await readable(a.serviceKey.plaintext)).toEqual(['first']);
  expect(await readable(a.organizationAdmin.token)).toEqual(['first', 'second', 'whole']);
  expect(await readable(b.organizationOwner.token)).toEqual(['foreign']);
  expect(await readable(a.tokens.operator)).toEqual(Object.keys(ids));
  expect(await readable(a.tokens.operator, { 'x-view-organization': organizationId })).toEqual(['first', 'second', 'whole']);
  expect(await readable(a.tokens.operator, { 'x-view-organization': organizationId, 'x-view-workspace': workspaceIds[1] })).toEqual([
    'second',
  ]);
  expect(await get(a.tokens.admin, ids.whole)).toBe(404);
  expect(await get(a.tokens.admin, newId())).toBe(404);
  expect((await list(a.tokens.member)).status).toBe(403);
});

test('a granted workspace counts at the rank held there: left out of lists, 403 by id', async () => {
  const { tokens, users, organizationId, workspaceIds } = await world.tenant({ workspaces: 2 });
  const second = workspaceIds[1] ?? '';
  const id = await write({ label: 'granted', organizationId, workspaceId: second });
  await set('insert into workspace_grants (workspace_id, user_id, organization_id, role) values (?, ?, ?, ?)', [
    second,
    users.admin.id,
    organizationId,
    'member',
  ]);

  expect(labels(await list(tokens.admin))).not.toContain('granted');
  expect((await world.call(tokens.admin, 'GET', `/audit-log/${id}`)).body).toMatchObject({ status: 403, code: 'role_insufficient' });
  await set("update workspace_grants set role = 'admin' where workspace_id = ?", [second]);
  expect(labels(await list(tokens.admin))).toContain('granted');
  expect((await world.call(tokens.admin, 'GET', `/audit-log/${id}`)).status).toBe(200);
});

test('filters: holder or acting user, action, resource type, a span of time; a foreign value gives the empty page of an unknown one', async () => {
  const [a, b] = [await world.tenant(), await world.tenant()];
  const { organizationId, workspaceId, users, organizationAdmin } = a;
  const at = { organizationId, workspaceId };
  await write({ ...at, label: 'held', actorId: users.owner.id, ageS: 50 });
  await write({ ...at, label: 'acted', actorId: users.admin.id, actingUserId: users.owner.id, action: 'delete', ageS: 40 });
  await write({ ...at, label: 'other', actorId: users.admin.id, resourceType: 'gadget', ageS: 30 });
  const token = organizationAdmin.token;
  const times = (await list(token)).body.items.map((item: { created_at: string }) => item.created_at);

  expect(labels(await list(token, `?actor_id=${users.owner.id}`))).toEqual(['acted', 'held']);
  expect(labels(await list(token, '?action=delete'))).toEqual(['acted']);
  expect(labels(await list(token, '?resource_type=gadget'))).toEqual(['other']);
  expect(labels(await list(token, `?from=${times[1]}`))).toEqual(['other', 'acted']);
  expect(labels(await list(token, `?to=${times[1]}`))).toEqual(['held']);
  expect(labels(await list(token, `?from=${times[2]}&to=${times[0]}&action=update&actor_id=${users.owner.id}`))).toEqual(['held']);
  for (const id of [b.users.admin.id, newId()]) expect((await list(token, `?actor_id=${id}`)).body.items).toEqual([]);
  for (const query of [
    'action=read',
    'resource_type=',
    `resource_type=${'x'.repeat(61)}`,
    `from=${times[0]}&to=${times[2]}`,
    'q=x',
    'actor_id=1',
  ])
    expect((await list(token, `?${query}`)).status).toBe(422);
});

test('entries of one moment are all met when paging, newest first, in both modes', async () => {
  const { organizationId, organizationAdmin } = await world.tenant();
  await set(
    `insert into audit_entries (id, organization_id, actor_kind, action, resource_type, resource_label)
     select gen_random_uuid(), ?::uuid, 'system', 'update', 'thing', n::text from generate_series(1, 25) n`,
    [organizationId],
  );

  const seen: string[] = [];
  let cursor: string | null = null;
  do {
    const page: Answer = await list(organizationAdmin.token, `?limit=10${cursor === null ? '' : `&cursor=${cursor}`}`);
    seen.push(...labels(page));
    cursor = page.body.next_cursor;
  } while (cursor !== null);

  expect(seen).toHaveLength(25);
  expect(new Set(seen).size).toBe(25);
  const offset = await list(organizationAdmin.token, '?limit=10&offset=20');
  expect([labels(offset), offset.body.total]).toEqual([seen.slice(20), 25]);
});

test("a user's label is the present one, for those who see the user, and gone with the user", async () => {
  const { tokens, users, organizationId, workspaceId, organizationAdmin } = await world.tenant();
  const target = users.member;
  const id = await write({ label: 'never shown', organizationId, workspaceId, resourceType: 'user', resourceId: target.id });
  const label = async (token = tokens.admin) => (await world.call(token, 'GET', `/audit-log/${id}`)).body.resource_label;

  expect(await label()).toBe(target.email);
  await set("update users set full_name = 'Ada' where id = ?", [target.id]);
  expect([await label(), labels(await list(organizationAdmin.token))[0]]).toEqual(['Ada', 'Ada']);
  const elsewhere = newId();
  await set("insert into workspaces (id, organization_id, slug, name) values (?, ?, 'elsewhere', 'Elsewhere')", [
    elsewhere,
    organizationId,
  ]);
  await set('update users set workspace_id = ? where id = ?', [elsewhere, target.id]);
  expect([await label(), await label(organizationAdmin.token)]).toEqual([null, 'Ada']);
  await set('update users set deleted_at = now(), is_active = false where id = ?', [target.id]);
  expect(await label(organizationAdmin.token)).toBeNull();
});

test('100,000 failed logins remove no entry and write none', async () => {
  const { organizationId, organizationAdmin, users } = await world.tenant();
  await write({ label: 'before', organizationId });
  await set(
    `insert into login_failures (id, at, account_hash, user_id, organization_id, ip_truncated, reason)
     select gen_random_uuid(), now(), '\\x00', ?::uuid, ?::uuid, '10.0.0.0/24', 'password' from generate_series(1, 100000)`,
    [users.member.id, organizationId],
  );
  const failed = await world.api.app.inject({
    method: 'POST',
    url: '/auth/login',
    payload: { email: users.member.email, password: 'not the password' },
  });

  expect(failed.statusCode).toBe(401);
  expect(labels(await list(organizationAdmin.token))).toEqual(['before']);
});
