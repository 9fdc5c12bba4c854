import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { testPassword } from '../../support/tenant.ts';
import { goodPassword, openPeople, type People } from './people.ts';

let people: People;
/** A second process of the same deployment. */
let second: People;

beforeAll(async () => {
  people = await openPeople();
  const { database, keys, redisPrefix } = people.api;
  second = await openPeople({ database, keys, redisPrefix });
});

afterAll(async () => {
  await second.close();
  await people.close();
});

const makeKey = async (token: string): Promise<string> =>
  (await people.call(token, 'POST', '/service-keys', { body: { name: 'k', role: 'member' } })).body.plaintext;

test('deactivation ends sessions, refresh tokens and keys on every process at once, and reactivation brings nothing back', async () => {
  const { users, tokens, organizationAdmin } = await people.tenant();
  const { id, email } = users.admin;
  const key = await makeKey(tokens.admin);
  const login = await people.ask('POST', '/auth/login', { email, password: testPassword });
  const credentials = [tokens.admin, login.body.access_token, key];
  const statuses = () =>
    Promise.all([people, second].flatMap((world) => credentials.map(async (who) => (await world.call(who, 'GET', '/auth/me')).status)));
  const warm = await statuses();

  const off = await people.call(organizationAdmin.token, 'POST', `/users/${id}/deactivate`);
  const again = await people.call(organizationAdmin.token, 'POST', `/users/${id}/deactivate`);
  const dead = await statuses();
  const refused = await people.ask('POST', '/auth/login', { email, password: testPassword });
  const on = await people.call(organizationAdmin.token, 'POST', `/users/${id}/reactivate`);
  const refresh = await people.ask('POST', '/auth/refresh', { refresh_token: login.body.refresh_token });

  expect(warm).toEqual([200, 200, 200, 200, 200, 200]);
  expect(off).toMatchObject({ status: 200, body: { is_active: false } });
  expect(again).toMatchObject({ status: 200, body: off.body });
  expect(dead).toEqual([401, 401, 401, 401, 401, 401]);
  expect(refused).toMatchObject({ status: 401, body: { code: 'login_failed' } });
  expect(on).toMatchObject({ status: 200, body: { is_active: true } });
  expect(refresh.status).toBe(401);
  expect(await statuses()).toEqual(dead);
  expect((await people.ask('POST', '/auth/login', { email, password: testPassword })).status).toBe(200);
  expect((await people.entriesOf(id)).map(({ changes }) => changes)).toEqual([
    { is_active: { from: true, to: false } },
    {},
    { is_active: { from: false, to: true } },
  ]);
});

test('keys that a user made in a workspace out of the caller’s sight end as well', async () => {
  const tenant = await people.tenant({ workspaces: 2 });
  const [, other = ''] = tenant.workspaceIds;
  const { users, tokens } = tenant;
  await people.rows(`insert into workspace_grants (workspace_id, user_id, organization_id, role) values (?, ?, ?, 'admin') returning 1`, [
    other,
    users.admin.id,
    tenant.organizationId,
  ]);
  const key = await people.call(tokens.admin, 'POST', '/service-keys', { body: { name: 'k', workspace_id: other } });
  expect(key.status).toBe(201);

  await people.call(tokens.owner, 'POST', `/users/${users.admin.id}/deactivate`);
  await people.call(tokens.owner, 'POST', `/users/${users.admin.id}/reactivate`);

  expect((await people.call(key.body.plaintext, 'GET', '/auth/me')).status).toBe(401);
});

test('deleteUser erases address, name, credentials, grants, sessions, keys and invitations, and keeps the id', async () => {
  const tenant = await people.tenant({ workspaces: 2 });
  const [, other = ''] = tenant.workspaceIds;
  const { users, tokens, organizationId, organizationOwner } = tenant;
  const { id, email } = users.admin;
  const key = await makeKey(tokens.admin);
  await people.call(tokens.admin, 'PATCH', `/users/${id}`, { body: { full_name: 'Ada Lovelace' } });
  await people.rows(`insert into workspace_grants (workspace_id, user_id, organization_id, role) values (?, ?, ?, 'admin') returning 1`, [
    other,
    id,
    organizationId,
  ]);
  await people.rows(
    `insert into invitations (id, organization_id, scope, email, role, token_hash, status, expires_at, accepted_user_id)
     values (gen_random_uuid(), ?, 'organization', ?, 'viewer', ?, 'accepted', now(), ?) returning 1`,
    [organizationId, email, Buffer.from(id), id],
  );

  // By an owner of one workspace, who doesn't see the other.
  const gone = await people.call(tokens.owner, 'DELETE', `/users/${id}`);

  expect(gone.status).toBe(204);
  for (const table of ['user_credentials', 'sessions', 'refresh_tokens', 'auth_challenges', 'workspace_grants', 'totp_factors'])
    expect([table, await people.rows(`select * from ${table} where user_id = ?`, [id])]).toEqual([table, []]);
  expect(await people.rows('select * from invitations where accepted_user_id = ?', [id])).toEqual([]);
  expect(
    await people.rows('select email, full_name, is_active, deleted_at is not null as is_deleted from users where id = ?', [id]),
  ).toEqual([{ email: '', full_name: null, is_active: false, is_deleted: true }]);
  expect((await people.call(tokens.admin, 'GET', '/auth/me')).status).toBe(401);
  expect((await second.call(key, 'GET', '/auth/me')).status).toBe(401);
  expect((await people.call(organizationOwner.token, 'GET', `/users/${id}`)).status).toBe(404);
  expect((await people.call(tokens.owner, 'DELETE', `/users/${id}`)).status).toBe(404);
  expect(JSON.stringify(await people.entriesOf(id))).not.toMatch(/Ada|example\.test/);

  const reused = await people.call(organizationOwner.token, 'POST', '/users', { body: { email, role: 'viewer', password: goodPassword } });
  expect(reused.status).toBe(201);
  expect(reused.body.id).not.toBe(id);
});

test('nobody deactivates or deletes themselves', async () => {
  const { organizationOwner, users, tokens } = await people.tenant();

  const off = await people.call(tokens.admin, 'POST', `/users/${users.admin.id}/deactivate`);
  const gone = await people.call(organizationOwner.token, 'DELETE', `/users/${organizationOwner.id}`);

  for (const refused of [off, gone])
    expect(refused).toMatchObject({ status: 409, body: { code: 'state_conflict', context: { reason: 'own_account' } } });
});

test('R2 holds for state and deletion, and deletion is for owners', async () => {
  const { organizationOwner, organizationAdmin, users, tokens } = await people.tenant();

  const owner = await people.call(tokens.admin, 'POST', `/users/${users.owner.id}/deactivate`);
  const awake = await people.call(tokens.admin, 'POST', `/users/${users.owner.id}/reactivate`);
  const wider = await people.call(tokens.owner, 'POST', `/users/${organizationAdmin.id}/deactivate`);
  const byAdmin = await people.call(organizationAdmin.token, 'DELETE', `/users/${users.viewer.id}`);
  const ofOwner = await people.call(organizationAdmin.token, 'POST', `/users/${organizationOwner.id}/deactivate`);

  for (const refused of [owner, awake, ofOwner])
    expect(refused).toMatchObject({ status: 403, body: { code: 'role_insufficient', context: { reason: 'rank' } } });
  expect(wider).toMatchObject({ status: 403, body: { code: 'resource_forbidden' } });
  expect(byAdmin).toMatchObject({ status: 403, body: { code: 'role_insufficient' } });
});

test('of two owners who end each other at once on two processes one stays', async () => {
  const tenant = await people.tenant();
  const { organizationOwner } = tenant;
  const other = await people.user(tenant, { role: 'owner', scope: 'organization' });

  const both = await Promise.all([
    people.call(organizationOwner.token, 'POST', `/users/${other.id}/deactivate`),
    second.call(other.token, 'DELETE', `/users/${organizationOwner.id}`),
  ]);
  const left = await people.rows(
    `select id from users where organization_id = ? and role = 'owner' and scope = 'organization' and is_active and deleted_at is null`,
    [tenant.organizationId],
  );

  expect(left).toHaveLength(1);
  expect(both.filter(({ status }) => status < 300)).toHaveLength(1);
  for (const { status } of both) expect([200, 204, 401, 409]).toContain(status);
});

test('an operator does not end the last owner either', async () => {
  const { organizationOwner, tokens } = await people.tenant();

  const off = await people.call(tokens.operator, 'POST', `/users/${organizationOwner.id}/deactivate`);
  const gone = await people.call(tokens.operator, 'DELETE', `/users/${organizationOwner.id}`);

  for (const refused of [off, gone]) expect(refused).toMatchObject({ status: 409, body: { context: { reason: 'last_owner' } } });
});

test('a frozen place refuses changes of its people with 423; deletion stays open', async () => {
  const { organizationOwner, organizationId, workspaceId, users } = await people.tenant();
  const { token } = organizationOwner;
  const path = `/users/${users.viewer.id}`;
  const tries = () =>
    Promise.all([
      people.call(token, 'PATCH', path, { body: { full_name: 'x' } }),
      people.call(token, 'PUT', `${path}/role`, { body: { role: 'member' } }),
      people.call(token, 'POST', `${path}/deactivate`),
      people.call(token, 'POST', `${path}/reactivate`),
      people.call(token, 'POST', '/users', {
        body: { email: 'frozen@example.test', role: 'viewer', scope: 'workspace', workspace_id: workspaceId, password: goodPassword },
      }),
    ]);

  await people.rows('update workspaces set is_active = false, archived_at = now() where id = ? returning 1', [workspaceId]);
  const archived = await tries();
  await people.rows(`update workspaces set is_active = true, archived_at = null where id = ? returning 1`, [workspaceId]);
  await people.rows(`update organizations set status = 'suspended', suspended_at = now() where id = ? returning 1`, [organizationId]);
  const suspended = await tries();
  const gone = await people.call(token, 'DELETE', path);

  expect(archived.map(({ status, body }) => [status, body.context.reason])).toEqual(archived.map(() => [423, 'workspace_archived']));
  expect(suspended.map(({ status, body }) => [status, body.context.reason])).toEqual(suspended.map(() => [423, 'organization_suspended']));
  expect(gone.status).toBe(204);
});
