import { tmpdir } from 'node:os';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { makeUser, testPassword, tokenFor, type TestUser } from '../../support/tenant.ts';
import { openClient, type Client } from './client.ts';
import { codeOf, enrol, mailsTo, makeStale, verify } from './second-factor.ts';

let client: Client;
let second: Client;

beforeAll(async () => {
  const env = { MAIL_DIR: tmpdir(), RATE_LIMITS: 'mfa=1000/60,anonymous=100000/60' };
  client = await openClient({ env });
  const { database, keys, redisPrefix } = client.api;
  second = await openClient({ env, database, keys, redisPrefix });
});
afterAll(async () => {
  await second.close();
  await client.close();
});

const stepUpNeeded = { status: 401, body: { code: 'mfa_required', context: { reason: 'step_up_required' } } };
const revoked = { status: 401, body: { code: 'session_revoked' } };
const me = (token: string) => client.call('GET', '/auth/me', { token });
const begin = (token: string) => client.call('POST', '/auth/mfa/totp', { token });
const renew = (token: string) => client.call('POST', '/auth/mfa/recovery-codes', { token });
const byPassword = (token: string) => verify(client, { method: 'password', code: testPassword }, token);
const anotherSession = (user: TestUser) => tokenFor(client.api.db, client.api.keys, user);

/** A session by password of a user whose factor was confirmed elsewhere, as such sessions exist since before a confirmation ended them. */
async function sessionFromBefore(user: TestUser, codes: { secret: string }) {
  const session = await anotherSession(user);
  expect((await me(session.token)).body.session.mfa_level).toBe('none');
  return { ...session, ...codes };
}

/** Everything that a session must be fresh for, each with a body that would do. */
const fresh = (token: string, organizationId: string) => [
  client.call('DELETE', '/auth/mfa/totp', { token }),
  renew(token),
  begin(token),
  client.call('POST', '/auth/mfa/totp/confirm', { token, body: { code: '123456' } }),
  client.call('PATCH', '/auth/me', { token, body: { email: `thief-${crypto.randomUUID()}@example.test` } }),
  client.call('PATCH', `/organizations/${organizationId}/settings`, { token, body: { require_mfa: false } }),
  client.call('POST', `/organizations/${organizationId}/transfer-ownership`, { token, body: { user_id: organizationId } }),
];

test('with a confirmed factor a password makes no session fresh, however recent; /auth/me says so, and the factor does', async () => {
  const { organizationOwner: owner, organizationId } = await client.tenant();
  const { token, secret } = await sessionFromBefore(owner, await enrol(client, owner.token));

  for (const answer of await Promise.all(fresh(token, organizationId))) expect(answer).toMatchObject(stepUpNeeded);
  expect((await me(token)).body.mfa).toMatchObject({ enrolled: true, fresh_until: null });
  expect((await byPassword(token)).status).toBe(422);
  expect((await verify(client, { code: codeOf(secret) }, token)).status).toBe(200);

  expect((await me(token)).body).toMatchObject({ mfa: { fresh_until: expect.any(String) }, session: { mfa_level: 'totp' } });
  expect((await renew(token)).status).toBe(200);
});

test('the first factor wants a fresh password, to begin and to confirm', async () => {
  const { users } = await client.tenant();
  const { token, sessionId } = users.member;
  await makeStale(client, sessionId);
  const confirm = (code: string) => client.call('POST', '/auth/mfa/totp/confirm', { token, body: { code } });

  expect(await begin(token)).toMatchObject(stepUpNeeded);
  expect((await byPassword(token)).status).toBe(200);
  const begun = await begin(token);
  expect(begun.status).toBe(201);
  await makeStale(client, sessionId);
  expect(await confirm(codeOf(begun.body.secret))).toMatchObject(stepUpNeeded);
  expect((await me(token)).body.mfa.enrolled).toBe(false);
  expect((await byPassword(token)).status).toBe(200);

  expect((await confirm(codeOf(begun.body.secret))).status).toBe(200);
  expect((await me(token)).body).toMatchObject({
    mfa: { enrolled: true, fresh_until: expect.any(String) },
    session: { mfa_level: 'totp' },
  });
});

test('a restricted session steps up by password, enrols, and is the only one that is whole then', async () => {
  const { users, organizationId } = await client.tenant({ requireMfa: true });
  const user = users.admin;
  const other = await anotherSession(user);
  await makeStale(client, user.sessionId);
  const list = (token: string) => client.call('GET', '/service-keys', { token });

  expect(await list(user.token)).toMatchObject({ status: 401, body: { context: { reason: 'enrolment_required' } } });
  expect(await begin(user.token)).toMatchObject(stepUpNeeded);
  expect((await byPassword(user.token)).status).toBe(200);
  await enrol(client, user.token);

  expect((await list(user.token)).status).toBe(200);
  expect(await list(other.token)).toMatchObject(revoked);
  expect(
    await client.rows('select 1 from sessions where organization_id = ? and user_id = ? and revoked_at is null', [organizationId, user.id]),
  ).toHaveLength(1);
});

test('while a factor is demanded, a session that never showed it reaches /auth/me, logout and the step-up alone', async () => {
  const { organizationOwner: owner, organizationId } = await client.tenant();
  const { token, secret } = await sessionFromBefore(owner, await enrol(client, owner.token));
  const ask = (method: 'GET' | 'POST' | 'DELETE', path: string, body?: object) => client.call(method, path, { token, body });
  expect((await ask('GET', '/service-keys')).status).toBe(200);

  await client.rows('update organization_settings set require_mfa = true where organization_id = ?', [organizationId]);
  expect(await ask('GET', '/service-keys')).toMatchObject(stepUpNeeded);
  expect(await begin(token)).toMatchObject(stepUpNeeded);
  expect(await ask('DELETE', '/auth/mfa/totp')).toMatchObject(stepUpNeeded);
  expect((await me(token)).body.mfa).toMatchObject({ enrolled: true, required: true });
  expect((await client.call('GET', '/service-keys', { token: owner.token })).status).toBe(200);
  expect((await verify(client, { code: codeOf(secret) }, token)).status).toBe(200);

  expect((await ask('GET', '/service-keys')).status).toBe(200);
  expect((await ask('POST', '/auth/logout')).status).toBe(204);
});

test('what an old factor has proved counts for nothing once it is removed', async () => {
  const { users } = await client.tenant();
  const user = users.member;
  await enrol(client, user.token);

  expect((await client.call('DELETE', '/auth/mfa/totp', { token: user.token })).status).toBe(204);
  expect((await me(user.token)).body).toMatchObject({ session: { mfa_level: 'none' }, mfa: { enrolled: false } });
  // As if the new factor had been confirmed by another hand.
  await client.rows(
    `insert into totp_factors (user_id, organization_id, secret_enc, created_at, confirmed_at)
     select id, organization_id, '\\x00', now(), now() from users where id = ?`,
    [user.id],
  );

  expect(await renew(user.token)).toMatchObject(stepUpNeeded);
});

test('a step-up by password never leaves the level of a factor on the session', async () => {
  const { users } = await client.tenant();
  const user = users.member;
  await client.rows("update sessions set mfa_level = 'totp' where id = ?", [user.sessionId]);

  expect((await byPassword(user.token)).status).toBe(200);

  expect((await me(user.token)).body.session.mfa_level).toBe('none');
});

test('an operator without a factor is asked for a fresh password, one with a factor for the factor', async () => {
  const operator = await makeUser(client.api.db, client.api.keys, {
    role: 'operator',
    scope: 'platform',
    organizationId: null,
    workspaceId: null,
  });
  await makeStale(client, operator.sessionId);

  expect(await begin(operator.token)).toMatchObject(stepUpNeeded);
  expect((await byPassword(operator.token)).status).toBe(200);
  const { secret } = await enrol(client, operator.token);
  const other = await anotherSession(operator);

  expect(await renew(other.token)).toMatchObject(stepUpNeeded);
  expect((await verify(client, { code: codeOf(secret) }, other.token)).status).toBe(200);
  expect((await renew(other.token)).status).toBe(200);
});

test('new recovery codes, a confirmed and a removed factor are told by mail', async () => {
  const { users } = await client.tenant();
  const user = users.member;
  await enrol(client, user.token);
  await renew(user.token);
  await client.call('DELETE', '/auth/mfa/totp', { token: user.token });

  expect(await mailsTo(client, user.id)).toEqual(['factor_added', 'recovery_codes_replaced', 'factor_removed']);
});

test('a sign-in by password at the same time as a confirmation never lives on beside it', async () => {
  for (let round = 0; round < 4; round++) {
    const { users } = await client.tenant();
    const user = users.member;
    const begun = await begin(user.token);

    const [confirmed, login] = await Promise.all([
      client.call('POST', '/auth/mfa/totp/confirm', { token: user.token, body: { code: codeOf(begun.body.secret) } }),
      second.logIn(user.email, testPassword),
    ]);

    expect(confirmed.status).toBe(200);
    if (login.status === 200 && !login.body.mfa_required) expect(await me(login.body.access_token)).toMatchObject(revoked);
    expect(await client.rows("select id from sessions where user_id = ? and revoked_at is null and mfa_level = 'none'", [user.id])).toEqual(
      [],
    );
  }
});
