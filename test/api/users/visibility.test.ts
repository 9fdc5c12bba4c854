import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { bareRefusal, openPeople, type People } from './people.ts';

let people: People;
const nobody = '01900000-0000-7000-8000-000000000009';

beforeAll(async () => {
  people = await openPeople();
});

afterAll(() => people.close());

const grant = (tenant: { organizationId: string }, workspaceId: string, user: { id: string }, role: string) =>
  people.rows('insert into workspace_grants (workspace_id, user_id, organization_id, role) values (?, ?, ?, ?) returning 1', [
    workspaceId,
    user.id,
    tenant.organizationId,
    role,
  ]);

test('a caller of one workspace sees users with home or grant there and those of the whole organization', async () => {
  const tenant = await people.tenant({ workspaces: 2 });
  const [, second = ''] = tenant.workspaceIds;
  const elsewhere = await people.user(tenant, { role: 'member', workspaceId: second });
  const guest = await people.user(tenant, { role: 'member', workspaceId: second });
  await grant(tenant, tenant.workspaceId, guest, 'viewer');
  const statusOf = async (token: string, id: string) => (await people.call(token, 'GET', `/users/${id}`)).status;

  expect(await statusOf(tenant.tokens.viewer, tenant.users.owner.id)).toBe(200);
  expect(await statusOf(tenant.tokens.viewer, guest.id)).toBe(200);
  expect(await statusOf(tenant.tokens.viewer, tenant.organizationOwner.id)).toBe(200);
  expect(await statusOf(tenant.tokens.owner, elsewhere.id)).toBe(404);
  expect(await statusOf(tenant.organizationAdmin.token, elsewhere.id)).toBe(200);
  expect(await statusOf(elsewhere.token, elsewhere.id)).toBe(200);
  expect(await statusOf(tenant.tokens.operator, elsewhere.id)).toBe(200);
  expect(await statusOf(tenant.serviceKey.plaintext, elsewhere.id)).toBe(404);
});

test("another organization's user is the same 404 as an unknown one, for every operation", async () => {
  const [mine, other] = await Promise.all([people.tenant(), people.tenant()]);
  const calls = [
    ['GET', '', undefined],
    ['PATCH', '', { full_name: 'x' }],
    ['PUT', '/role', { role: 'viewer' }],
    ['POST', '/deactivate', undefined],
    ['POST', '/reactivate', undefined],
    ['DELETE', '', undefined],
  ] as const;

  for (const [method, path, body] of calls) {
    const answers = await Promise.all(
      [other.users.viewer.id, nobody].map((id) => people.call(mine.organizationOwner.token, method, `/users/${id}${path}`, { body })),
    );
    expect(answers[0]?.status).toBe(404);
    expect(answers.map(bareRefusal)[0]).toEqual(answers.map(bareRefusal)[1]);
  }
  const untouched = await people.call(other.tokens.viewer, 'GET', `/users/${other.users.viewer.id}`);
  expect(untouched.body).toMatchObject({ is_active: true, full_name: null });
});

test('an operator narrowed to an organization sees its users and itself only', async () => {
  const [mine, other] = await Promise.all([people.tenant(), people.tenant()]);
  const headers = { 'x-view-organization': mine.organizationId };
  const read = async (id: string) => (await people.call(mine.tokens.operator, 'GET', `/users/${id}`, { headers })).status;
  const list = await people.call(mine.tokens.operator, 'GET', '/users?limit=200', { headers });

  expect(await read(mine.users.viewer.id)).toBe(200);
  expect(await read(other.users.viewer.id)).toBe(404);
  expect(await read(other.users.operator.id)).toBe(404);
  expect(await read(mine.users.operator.id)).toBe(200);
  expect(new Set(list.body.items.map((user: { organization_id: string | null }) => user.organization_id))).toEqual(
    new Set([mine.organizationId, null]),
  );
});

test('listUsers filters, pages, and takes % and _ as letters', async () => {
  const tenant = await people.tenant({ workspaces: 2 });
  const [, second = ''] = tenant.workspaceIds;
  const elsewhere = await people.user(tenant, { role: 'member', workspaceId: second });
  await people.rows("update users set full_name = '100%_Sure' where id = ? returning 1", [elsewhere.id]);
  const { token } = tenant.organizationAdmin;
  const ids = async (query: string) =>
    (await people.call(token, 'GET', `/users?${query}`)).body.items.map((user: { id: string }) => user.id).toSorted();

  const all = await ids('limit=200');
  const pages = await people.call(token, 'GET', '/users?limit=3');
  const next = await people.call(token, 'GET', `/users?limit=200&cursor=${pages.body.next_cursor}`);

  expect(await ids('q=%25_s')).toEqual([elsewhere.id]);
  expect(await ids(`q=${encodeURIComponent(tenant.users.viewer.email.slice(0, 14).toUpperCase())}`)).toEqual([tenant.users.viewer.id]);
  expect(await ids('q=_%25')).toEqual([]);
  expect(await ids('role=owner')).toEqual([tenant.users.owner.id, tenant.organizationOwner.id].toSorted());
  expect(await ids('scope=organization')).toEqual([tenant.organizationOwner.id, tenant.organizationAdmin.id].toSorted());
  expect(await ids(`workspace_id=${second}`)).toEqual([elsewhere.id]);
  expect(await ids(`workspace_id=${nobody}`)).toEqual([]);
  expect(await ids('is_active=false')).toEqual([]);
  expect(all).toHaveLength(7);
  expect([...pages.body.items, ...next.body.items].map((user: { id: string }) => user.id).toSorted()).toEqual(all);
});

test('a list leaves out the rows of workspaces where the rank is below the floor', async () => {
  const tenant = await people.tenant({ workspaces: 2 });
  const [, second = ''] = tenant.workspaceIds;
  const elsewhere = await people.user(tenant, { role: 'viewer', workspaceId: second });
  await grant(tenant, second, tenant.users.admin, 'viewer');

  const list = await people.call(tenant.tokens.admin, 'GET', '/users?limit=200');
  const read = await people.call(tenant.tokens.admin, 'GET', `/users/${elsewhere.id}`);
  const write = await people.call(tenant.tokens.admin, 'POST', `/users/${elsewhere.id}/deactivate`);
  const below = await people.call(tenant.tokens.member, 'GET', '/users');

  expect(list.body.items.map((user: { id: string }) => user.id)).not.toContain(elsewhere.id);
  expect(read.status).toBe(200);
  expect(write).toMatchObject({ status: 403, body: { code: 'role_insufficient' } });
  expect(below).toMatchObject({ status: 403, body: { code: 'role_insufficient' } });
});

test('getUser and updateUser agree on the ETag, and a user never answers 304', async () => {
  const { tokens, users } = await people.tenant();
  const path = `/users/${users.viewer.id}`;
  const before = await people.call(tokens.viewer, 'GET', path);
  const etag = before.headers['etag'] ?? '';

  const unchanged = await people.call(tokens.viewer, 'GET', path, { headers: { 'if-none-match': etag } });
  const empty = await people.call(tokens.viewer, 'PATCH', path, { body: {} });
  const named = await people.call(tokens.viewer, 'PATCH', path, { body: { full_name: 'Grace' }, headers: { 'if-match': etag } });
  const stale = await people.call(tokens.viewer, 'PATCH', path, { body: { full_name: 'Late' }, headers: { 'if-match': etag } });
  const cleared = await people.call(tokens.viewer, 'PATCH', path, { body: { full_name: null } });

  expect(unchanged.status).toBe(200);
  expect(empty).toMatchObject({ status: 200, headers: { etag }, body: { updated_at: before.body.updated_at } });
  expect(named).toMatchObject({ status: 200, body: { full_name: 'Grace' } });
  expect(stale).toMatchObject({ status: 412, body: { context: { etag: named.headers['etag'] } } });
  expect(cleared.body.full_name).toBeNull();
  const changes = (await people.entriesOf(users.viewer.id)).map((entry) => entry.changes);
  expect(changes).toEqual([{}, { full_name: { changed: true } }, { full_name: { changed: true } }]);
});

test('of 20 updates with one If-Match one wins', async () => {
  const { tokens, users } = await people.tenant();
  const path = `/users/${users.viewer.id}`;
  const headers = { 'if-match': (await people.call(tokens.viewer, 'GET', path)).headers['etag'] ?? '' };

  const all = await Promise.all(
    Array.from({ length: 20 }, (_, n) => people.call(tokens.viewer, 'PATCH', path, { body: { full_name: `Name ${n}` }, headers })),
  );

  expect(all.map(({ status }) => status).toSorted()).toEqual([200, ...Array.from({ length: 19 }, () => 412)]);
});

test('updateUser is for oneself, or for an admin who is not outranked', async () => {
  const { tokens, users, organizationOwner } = await people.tenant();
  const rename = (token: string, id: string, body: object = { full_name: 'x' }) => people.call(token, 'PATCH', `/users/${id}`, { body });

  const byPeer = await rename(tokens.member, users.viewer.id);
  const byAdmin = await rename(tokens.admin, users.viewer.id);
  const ofOwner = await rename(tokens.admin, users.owner.id);
  const ofWider = await rename(tokens.owner, organizationOwner.id);
  const fields = ['email', 'email_verified_at', 'role', 'is_active', 'organization_id', 'workspace_id', 'scope', 'locale'];
  const refused = await Promise.all(fields.map((field) => rename(tokens.viewer, users.viewer.id, { [field]: 'x' })));

  expect(byPeer).toMatchObject({ status: 403, body: { code: 'role_insufficient' } });
  expect(byAdmin.status).toBe(200);
  expect(ofOwner).toMatchObject({ status: 403, body: { code: 'role_insufficient', context: { reason: 'rank' } } });
  expect(ofWider).toMatchObject({ status: 403, body: { code: 'resource_forbidden' } });
  expect(refused.map(({ status, body }) => [status, body.errors[0].rule])).toEqual(fields.map(() => [422, 'unknown_field']));
});

test('under X-Acting-User oneself is the acting user', async () => {
  const { tokens, users } = await people.tenant();
  const rename = (id: string) =>
    people.call(tokens.admin, 'PATCH', `/users/${id}`, { body: { full_name: 'x' }, headers: { 'x-acting-user': users.viewer.id } });

  expect((await rename(users.viewer.id)).status).toBe(200);
  expect((await rename(users.member.id)).status).toBe(403);
});
