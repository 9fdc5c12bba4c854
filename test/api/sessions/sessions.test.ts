import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { newId } from '../../../db/ids.ts';
import { makeUser, testPassword, tokenFor, type TestTenant, type TestUser } from '../../support/tenant.ts';
import { openClient, type Client } from '../authentication/client.ts';

let client: Client;
let second: Client;

beforeAll(async () => {
  client = await openClient();
  const { database, keys, redisPrefix } = client.api;
  second = await openClient({ database, keys, redisPrefix });
});
afterAll(async () => {
  await second.close();
  await client.close();
});

const revoked = { status: 401, body: { code: 'session_revoked' } };
const me = (token: string, process = client) => process.call('GET', '/auth/me', { token });
const list = (token: string, query = '') => client.call('GET', `/sessions${query}`, { token });
const idsIn = (answer: { body: { items: { id: string }[] } }) => answer.body.items.map(({ id }) => id);

async function secondDevice(user: TestUser) {
  const { body } = await client.logIn(user.email, testPassword);
  return { sessionId: body.session_id as string, token: body.access_token as string, refreshToken: body.refresh_token as string };
}

/** A session of a connected app. */
async function connect(user: TestUser): Promise<string> {
  const { sessionId } = await tokenFor(client.api.db, client.api.keys, user);
  await client.rows(
    "update sessions set kind = 'oauth', client_id = 'lh_oc_app', client_name = 'App', oauth_scope = 'runs:read' where id = ?",
    [sessionId],
  );
  return sessionId;
}

test("one sees one's own devices and apps, newest first, by kind, ended ones only when asked for", async () => {
  const { users } = await client.tenant();
  const user = users.member;
  const app = await connect(user);
  const device = await secondDevice(user);
  const over = await tokenFor(client.api.db, client.api.keys, user);
  await client.rows("update sessions set idle_expires_at = now() - interval '1 second' where id = ?", [over.sessionId]);
  const dead = await tokenFor(client.api.db, client.api.keys, user);
  await client.call('POST', '/auth/logout', { token: dead.token });
  await secondDevice(users.viewer);

  const all = await list(user.token);

  expect(new Set(idsIn(all))).toEqual(new Set([user.sessionId, app, device.sessionId]));
  expect(idsIn(all)).toEqual(idsIn(all).toSorted().toReversed());
  expect(all.body.items.filter((item: { current: boolean }) => item.current).map((item: { id: string }) => item.id)).toEqual([
    user.sessionId,
  ]);
  expect(all.body.items.find((item: { id: string }) => item.id === app)).toMatchObject({
    kind: 'oauth',
    client_id: 'lh_oc_app',
    client_name: 'App',
  });
  expect(idsIn(await list(user.token, '?kind=oauth'))).toEqual([app]);
  expect(idsIn(await list(user.token, '?include_revoked=true'))).toHaveLength(5);
  expect((await list(user.token, '?state=live')).status).toBe(422);
});

test('the list pages to its end', async () => {
  const { users } = await client.tenant();
  const user = users.member;
  for (let count = 0; count < 4; count++) await tokenFor(client.api.db, client.api.keys, user);
  const seen: string[] = [];

  for (let cursor: string | null = ''; cursor !== null;) {
    const page = await list(user.token, `?limit=2${cursor ? `&cursor=${cursor}` : ''}`);
    seen.push(...idsIn(page));
    cursor = page.body.next_cursor;
  }

  expect(seen).toEqual(idsIn(await list(user.token)));
  expect(new Set(seen).size).toBe(5);
});

test('a session is read by its owner alone; the current one by name', async () => {
  const { users, organizationOwner } = await client.tenant();
  const device = await secondDevice(users.member);
  const read = (token: string, id: string) => client.call('GET', `/sessions/${id}`, { token });

  expect(await read(users.member.token, device.sessionId)).toMatchObject({ status: 200, body: { id: device.sessionId, current: false } });
  expect((await client.call('GET', '/sessions/current', { token: device.token })).body).toMatchObject({
    id: device.sessionId,
    current: true,
  });
  const foreign = await read(organizationOwner.token, device.sessionId);
  const unknown = await read(organizationOwner.token, newId());
  expect([foreign.status, unknown.status]).toEqual([404, 404]);
  expect((await client.call('DELETE', `/sessions/${device.sessionId}`, { token: organizationOwner.token })).status).toBe(404);
  expect((await me(device.token)).status).toBe(200);
});

test('a revoked device is out on the next request of every process, with its refresh and unused stream tokens; again it is 204', async () => {
  const { users, organizationId } = await client.tenant();
  const user = users.member;
  const device = await secondDevice(user);
  await me(device.token);
  await me(device.token, second);
  const path = `/sessions/${device.sessionId}`;

  expect((await client.call('DELETE', path, { token: user.token })).status).toBe(204);

  expect(await me(device.token)).toMatchObject(revoked);
  expect(await me(device.token, second)).toMatchObject(revoked);
  expect(await client.call('POST', '/auth/refresh', { body: { refresh_token: device.refreshToken } })).toMatchObject(revoked);
  expect((await me(user.token)).status).toBe(200);
  expect((await client.call('DELETE', path, { token: user.token })).status).toBe(204);
  expect((await client.call('GET', path, { token: user.token })).body.revoked_at).toEqual(expect.any(String));
  expect(
    await client.rows(
      "select action, resource_type, resource_id from audit_entries where organization_id = ? and operation_id = 'revokeSession'",
      [organizationId],
    ),
  ).toEqual([1, 2].map(() => ({ action: 'logout', resource_type: 'session', resource_id: device.sessionId })));
});

test('revoking the current session is a logout', async () => {
  const { users } = await client.tenant();
  const user = users.member;

  expect((await client.call('DELETE', `/sessions/${user.sessionId}`, { token: user.token })).status).toBe(204);

  expect(await me(user.token)).toMatchObject(revoked);
  expect(await client.rows('select revoke_reason from sessions where id = ?', [user.sessionId])).toEqual([{ revoke_reason: 'logout' }]);
});

test('revoke-others keeps the caller, ends every other device and app, and the second time none', async () => {
  const { users } = await client.tenant();
  const user = users.member;
  const app = await connect(user);
  const device = await secondDevice(user);
  const foreign = await secondDevice(users.viewer);
  const others = () => client.call('POST', '/sessions/revoke-others', { token: user.token });

  const first = await others();
  const again = await others();

  expect(first).toMatchObject({ status: 200, body: { revoked_count: 2 } });
  expect(new Set(first.body.session_ids)).toEqual(new Set([app, device.sessionId]));
  expect(again.body).toEqual({ revoked_count: 0, session_ids: [] });
  expect((await me(user.token)).status).toBe(200);
  expect(await me(device.token)).toMatchObject(revoked);
  expect((await me(foreign.token)).status).toBe(200);
});

test('an authorization code that is not exchanged yet dies with the sessions', async () => {
  const { users, organizationId } = await client.tenant();
  const user = users.member;
  await client.rows(
    `insert into oauth_codes (code_hash, client_id, user_id, organization_id, redirect_uri, code_challenge, scope, resource, expires_at)
     values ('\\x01', 'lh_oc_app', ?, ?, 'https://app.test', 'x', 'runs:read', 'https://app.test', now() + interval '1 minute')`,
    [user.id, organizationId],
  );

  await client.call('POST', '/sessions/revoke-others', { token: user.token });

  expect(await client.rows('select 1 from oauth_codes where user_id = ?', [user.id])).toEqual([]);
});

test('a sign-in at the same time as a reset of the sessions is either ended or later', async () => {
  const { users } = await client.tenant();
  const user = users.member;

  const [changed, login] = await Promise.all([
    client.call('POST', '/auth/password/change', {
      token: user.token,
      body: { current_password: testPassword, new_password: 'violet anchor meadow 42' },
    }),
    second.logIn(user.email, testPassword),
  ]);

  expect(changed.status).toBe(204);
  // The old password opens nothing that lives on.
  if (login.status === 200) expect(await me(login.body.access_token)).toMatchObject(revoked);
  else expect(login.status).toBe(401);
});

describeRevokeAll();

function describeRevokeAll(): void {
  const revokeAll = (token: string, userId: string) => client.call('POST', `/users/${userId}/sessions/revoke-all`, { token });
  let tenant: TestTenant;

  beforeAll(async () => {
    tenant = await client.tenant({ workspaces: 2 });
  });

  test('an admin ends every session of a user of lower or equal rank', async () => {
    const { users, organizationId } = tenant;
    const device = await secondDevice(users.member);

    const answer = await revokeAll(tenant.tokens.admin, users.member.id);

    expect(answer).toMatchObject({ status: 200, body: { revoked_count: 2 } });
    for (const token of [users.member.token, device.token]) expect(await me(token)).toMatchObject(revoked);
    expect(
      await client.rows(
        "select resource_type, resource_id, changes from audit_entries where organization_id = ? and operation_id = 'revokeUserSessions'",
        [organizationId],
      ),
    ).toEqual([{ resource_type: 'user', resource_id: users.member.id, changes: { revoked_count: { from: null, to: 2 } } }]);
  });

  test('of a user who outranks the caller it is 403, below the floor too, and nobody is signed out', async () => {
    const { users, tokens } = tenant;

    expect(await revokeAll(tokens.admin, users.owner.id)).toMatchObject({
      status: 403,
      body: { code: 'role_insufficient', context: { reason: 'rank' } },
    });
    expect(await revokeAll(tokens.viewer, users.viewer.id)).toMatchObject({ status: 403, body: { code: 'role_insufficient' } });
    expect((await me(tokens.owner)).status).toBe(200);
  });

  test("of a user outside the caller's sight it is the 404 of an unknown one, and leaves them signed in", async () => {
    const foreign = await client.tenant();
    const elsewhere = await makeUser(client.api.db, client.api.keys, {
      role: 'viewer',
      scope: 'workspace',
      organizationId: tenant.organizationId,
      workspaceId: tenant.workspaceIds[1] ?? null,
    });

    for (const id of [foreign.users.viewer.id, elsewhere.id, tenant.users.operator.id, newId()]) {
      expect(await revokeAll(tenant.tokens.admin, id)).toMatchObject({ status: 404, body: { code: 'not_found' } });
    }
    expect((await me(foreign.users.viewer.token)).status).toBe(200);
    expect((await me(elsewhere.token)).status).toBe(200);
    expect((await revokeAll(tenant.organizationOwner.token, elsewhere.id)).body.revoked_count).toBe(1);
  });

  test('an operator reaches every user; a frozen tenant stops nobody from signing out', async () => {
    const own = await client.tenant();
    await client.rows("update organizations set status = 'suspended', suspended_at = now() where id = ?", [own.organizationId]);
    await client.rows('update workspaces set is_active = false where id = ?', [own.workspaceId]);

    expect((await revokeAll(own.tokens.operator, own.users.owner.id)).body.revoked_count).toBe(1);
    expect((await revokeAll(own.tokens.admin, own.users.viewer.id)).body.revoked_count).toBe(1);
    expect((await client.call('POST', '/sessions/revoke-others', { token: own.tokens.member })).status).toBe(200);
  });
}

test("sessions are for sessions: keys and other users' names are 403", async () => {
  const { serviceKey, organizationOwner, users } = await client.tenant();

  for (const path of ['/sessions', '/sessions/current', `/sessions/${users.member.sessionId}`]) {
    expect(await client.call('GET', path, { token: serviceKey.plaintext })).toMatchObject({
      status: 403,
      body: { code: 'scope_insufficient', context: { reason: 'user_session_required' } },
    });
    expect(await client.call('GET', path, { token: organizationOwner.token, headers: { 'x-acting-user': users.member.id } })).toMatchObject(
      {
        status: 403,
        body: { code: 'resource_forbidden', context: { reason: 'delegation_not_allowed' } },
      },
    );
  }
});

test('reads cost two statements with authentication, a revocation one commit', async () => {
  const { users } = await client.tenant();
  const user = users.member;
  await me(user.token);
  const device = await secondDevice(user);
  const reads = await client.statementsOf(() => list(user.token));
  const writes = await client.statementsOf(() => client.call('DELETE', `/sessions/${device.sessionId}`, { token: user.token }));

  expect(reads).toHaveLength(2);
  expect(writes.filter((sql) => sql.startsWith('commit')).length).toBeLessThanOrEqual(1);
  expect(writes.length).toBeLessThanOrEqual(6);
});

test('a sign-in at the same time as a deactivation never lives on after the return', async () => {
  const { users, organizationOwner } = await client.tenant();
  const user = users.member;
  const turn = (path: string) => client.call('POST', `/users/${user.id}/${path}`, { token: organizationOwner.token });

  for (let round = 0; round < 4; round++) {
    const [login, off] = await Promise.all([second.logIn(user.email, testPassword), turn('deactivate')]);
    const on = await turn('reactivate');

    expect([off.status, on.status]).toEqual([200, 200]);
    if (login.status === 200) expect(await me(login.body.access_token)).toMatchObject(revoked);
    expect(await client.rows('select 1 from sessions where user_id = ? and revoked_at is null', [user.id])).toEqual([]);
  }
});
