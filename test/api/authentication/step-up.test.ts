import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { isRoleAccess } from '../../../api/http/credentials/scopes.ts';
import { areas } from '../../../api/operations.ts';
import { newId } from '../../../db/ids.ts';
import { testPassword, tokenFor, type TestUser } from '../../support/tenant.ts';
import { openClient, type Client } from './client.ts';
import { codeOf, enrol, mailsTo, makeStale, verify, wrongCode } from './second-factor.ts';

let client: Client;

beforeAll(async () => {
  client = await openClient();
});
afterAll(() => client.close());

const enrolling = (token: string) => client.call('POST', '/auth/mfa/totp', { token });
const confirming = (token: string, code: string) => client.call('POST', '/auth/mfa/totp/confirm', { token, body: { code } });
const removing = (token: string) => client.call('DELETE', '/auth/mfa/totp', { token });
const renewing = (token: string) => client.call('POST', '/auth/mfa/recovery-codes', { token });
const me = (token: string) => client.call('GET', '/auth/me', { token });
const conflict = (reason: string) => ({ status: 409, body: { code: 'state_conflict', context: { reason } } });
const stepUpNeeded = { status: 401, body: { code: 'mfa_required', context: { reason: 'step_up_required' } } };

const changesOf = (operationId: string, userId: string) =>
  client.rows<{ changes: unknown }>(
    'select action, resource_type, resource_id, changes from audit_entries where operation_id = ? and actor_id = ?',
    [operationId, userId],
  );

test('enrolment shows a secret of 160 bits; a new one replaces it; only a right code switches it on', async () => {
  const { users } = await client.tenant();
  const { token, id, email } = users.member;

  const first = await enrolling(token);
  const again = await enrolling(token);
  const stale = await confirming(token, codeOf(first.body.secret));
  const confirmed = await confirming(token, codeOf(again.body.secret));

  expect(first).toMatchObject({ status: 201, body: { secret: expect.stringMatching(/^[A-Z2-7]{32}$/) } });
  const uri = new URL(again.body.otpauth_uri);
  expect([uri.protocol, uri.host, decodeURIComponent(uri.pathname)]).toEqual(['otpauth:', 'totp', `/Longhaul:${email}`]);
  expect([uri.searchParams.get('secret'), uri.searchParams.get('issuer')]).toEqual([again.body.secret, 'Longhaul']);
  expect(Date.parse(first.body.expires_at) - Date.now()).toBeGreaterThan(890_000);
  expect(stale).toMatchObject({ status: 401, body: { code: 'mfa_code_invalid' } });
  expect(confirmed.status).toBe(200);
  expect((await me(token)).body).toMatchObject({ mfa: { enrolled: true }, session: { mfa_level: 'totp' } });
  expect(await enrolling(token)).toMatchObject(conflict('factor_active'));
  expect(await confirming(token, codeOf(again.body.secret))).toMatchObject(conflict('factor_active'));
  expect(await changesOf('confirmTotp', id)).toMatchObject([
    { action: 'update', resource_id: id, changes: { mfa_enabled: { from: false, to: true } } },
  ]);
  expect(await mailsTo(client, id)).toEqual(['factor_added']);
});

test('the secret is stored in an envelope that opens for its user only, and stands in no audit entry', async () => {
  const { users, organizationId } = await client.tenant();
  const { body } = await enrolling(users.member.token);
  const { body: other } = await enrolling(users.viewer.token);

  const [stored] = await client.rows<{ secret_enc: Buffer }>('select secret_enc from totp_factors where user_id = ?', [users.member.id]);
  const audited = await client.rows('select * from audit_entries where organization_id = ?', [organizationId]);
  await client.rows('update totp_factors set secret_enc = ? where user_id = ?', [stored?.secret_enc, users.viewer.id]);
  const moved = await confirming(users.viewer.token, codeOf(body.secret));

  expect(stored?.secret_enc.includes(body.secret)).toBe(false);
  expect(JSON.stringify(audited)).not.toContain(body.secret);
  expect(moved.status).toBe(500);
  expect(JSON.stringify(moved.body)).not.toContain(other.secret);
});

test('a secret is good for a quarter of an hour, and without one there is nothing to confirm', async () => {
  const { users } = await client.tenant();
  const { token, id } = users.member;

  expect(await confirming(token, '123456')).toMatchObject(conflict('no_factor'));
  const { body } = await enrolling(token);
  await client.rows("update totp_factors set expires_at = now() - interval '1 second' where user_id = ?", [id]);

  expect(await confirming(token, codeOf(body.secret))).toMatchObject({ status: 410, body: { code: 'gone' } });
  expect((await confirming(token, '12345')).status).toBe(422);
});

test('of parallel confirmations one gives codes', async () => {
  const { users } = await client.tenant();
  const { token, id } = users.member;
  const { body } = await enrolling(token);

  const answers = await Promise.all([1, 2, 3].map(() => confirming(token, codeOf(body.secret))));

  expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 409, 409]);
  expect(await client.rows('select code_hash from recovery_codes where user_id = ?', [id])).toHaveLength(10);
});

test('removing and renewing want a verification of the last ten minutes; a code with the bearer gives one', async () => {
  const { users } = await client.tenant();
  const user = users.member;
  const { secret } = await enrol(client, user.token);
  await makeStale(client, user.sessionId);

  expect(await removing(user.token)).toMatchObject(stepUpNeeded);
  expect(await renewing(user.token)).toMatchObject(stepUpNeeded);
  expect((await me(user.token)).body.mfa.fresh_until).toBeNull();
  expect((await verify(client, { code: wrongCode(secret) }, user.token)).status).toBe(401);
  expect(await renewing(user.token)).toMatchObject(stepUpNeeded);
  const stepped = await verify(client, { code: codeOf(secret) }, user.token);

  expect(stepped).toMatchObject({
    status: 200,
    body: { refresh_token: null, refresh_expires_at: null, session_id: user.sessionId, user: { id: user.id } },
  });
  expect((await me(stepped.body.access_token)).body.mfa.fresh_until).toEqual(expect.any(String));
  expect((await renewing(user.token)).status).toBe(200);
  expect(await changesOf('verifyMfa', user.id)).toMatchObject([
    { action: 'login', resource_type: 'session', resource_id: user.sessionId, changes: { step_up: { to: 'totp' } } },
  ]);
});

test('a user without a factor steps up by password, one with a factor never does', async () => {
  const { users } = await client.tenant();
  const user = users.member;
  await makeStale(client, user.sessionId);

  expect(await verify(client, { method: 'password', code: 'wrong' }, user.token)).toMatchObject({
    status: 401,
    body: { code: 'mfa_code_invalid' },
  });
  expect((await me(user.token)).body.mfa.fresh_until).toBeNull();
  expect(await verify(client, { code: '123456' }, user.token)).toMatchObject(conflict('no_factor'));
  expect((await verify(client, { method: 'password', code: testPassword }, user.token)).status).toBe(200);
  expect((await me(user.token)).body).toMatchObject({ mfa: { fresh_until: expect.any(String) }, session: { mfa_level: 'none' } });
  await enrol(client, user.token);

  expect(await verify(client, { method: 'password', code: testPassword }, user.token)).toMatchObject({
    status: 422,
    body: { errors: [{ pointer: '/method' }] },
  });
  expect(await client.rows('select reason from login_failures where user_id = ?', [user.id])).toEqual([{ reason: 'wrong_password' }]);
});

test("a bearer at verifyMfa must be a live session's, without challenge and in nobody else's name", async () => {
  const { users, serviceKey, organizationOwner } = await client.tenant();
  const [user, other] = [users.member, users.viewer];

  expect(await verify(client, { challenge_id: newId(), code: '123456' }, user.token)).toMatchObject({
    status: 422,
    body: { errors: [{ pointer: '/challenge_id' }] },
  });
  expect(await verify(client, { code: '123456' }, serviceKey.plaintext)).toMatchObject({
    status: 403,
    body: { code: 'scope_insufficient', context: { reason: 'user_session_required' } },
  });
  expect(await verify(client, { code: 1 }, 'garbled')).toMatchObject({ status: 401, body: { code: 'credential_invalid' } });
  const acting = await client.call('POST', '/auth/mfa/verify', {
    token: organizationOwner.token,
    headers: { 'x-acting-user': other.id },
    body: { method: 'password', code: testPassword },
  });
  expect(acting).toMatchObject({ status: 403, body: { context: { reason: 'delegation_not_allowed' } } });
  await client.call('POST', '/auth/logout', { token: user.token });
  expect(await verify(client, { code: '123456' }, user.token)).toMatchObject({ status: 401, body: { code: 'session_revoked' } });
});

test('removing ends every other session, kills the codes and is told by mail; again it is 204', async () => {
  const { users } = await client.tenant();
  const user = users.member;
  const other = await tokenFor(client.api.db, client.api.keys, user);
  await enrol(client, user.token);
  const { body: login } = await client.logIn(user.email, testPassword);

  expect((await removing(user.token)).status).toBe(204);

  expect((await me(user.token)).body.mfa).toMatchObject({ enrolled: false });
  expect(await me(other.token)).toMatchObject({ status: 401, body: { code: 'session_revoked' } });
  expect(await client.rows('select 1 from recovery_codes where user_id = ?', [user.id])).toEqual([]);
  expect(await client.rows('select 1 from auth_challenges where id = ?', [login.challenge_id])).toEqual([]);
  expect((await removing(user.token)).status).toBe(204);
  expect(await mailsTo(client, user.id)).toEqual(['factor_added', 'factor_removed']);
  expect(await renewing(user.token)).toMatchObject(conflict('no_factor'));
  expect((await client.logIn(user.email, testPassword)).body.mfa_required).toBe(false);
});

test('while the organization demands a factor nobody removes theirs', async () => {
  const { users } = await client.tenant({ requireMfa: true });
  await enrol(client, users.member.token);

  expect(await removing(users.member.token)).toMatchObject(conflict('factor_required'));
  expect((await me(users.member.token)).body.mfa).toMatchObject({ enrolled: true, required: true });
});

test('new recovery codes kill the old ones', async () => {
  const { users } = await client.tenant();
  const user = users.member;
  const { codes } = await enrol(client, user.token);
  const { body } = await renewing(user.token);
  const use = async (code: string | undefined) => {
    const { body: login } = await client.logIn(user.email, testPassword);
    return (await verify(client, { challenge_id: login.challenge_id, method: 'recovery_code', code })).status;
  };

  expect(body.codes).toHaveLength(10);
  expect(await use(codes[0])).toBe(401);
  expect(await use(body.codes[0])).toBe(200);
  const entries = await changesOf('regenerateRecoveryCodes', user.id);
  expect(JSON.stringify(entries)).toContain('recovery_codes');
  for (const code of [...codes, ...body.codes]) expect(JSON.stringify(entries)).not.toContain(code);
});

test('a restricted session reaches /auth/me, logout and enrolment, and nothing else; enrolled it is whole', async () => {
  const { users } = await client.tenant({ requireMfa: true });
  const { token } = users.admin;
  const open = new Set(['getMe', 'logout', 'verifyMfa', 'enrolTotp', 'confirmTotp']);
  const closed = areas
    .flatMap((area) => area.operations)
    .filter(
      (operation) =>
        operation.status !== 'specified' && (isRoleAccess(operation) || operation.takesSession) && !open.has(operation.operationId),
    );

  for (const operation of closed) {
    const reply = await client.api.app.inject({
      method: operation.method,
      url: operation.path.replaceAll(/\{\w+\}/g, newId()),
      headers: { authorization: `Bearer ${token}` },
    });
    expect([operation.operationId, reply.statusCode, reply.json().context?.reason]).toEqual([
      operation.operationId,
      401,
      'enrolment_required',
    ]);
  }
  const login = await client.logIn(users.admin.email, testPassword);
  expect(login.body.mfa_required).toBe(false);
  expect((await client.call('GET', '/sessions', { token: login.body.access_token })).status).toBe(401);
  await enrol(client, token);

  expect((await client.call('GET', '/service-keys', { token })).status).toBe(200);
  expect((await client.call('POST', '/auth/logout', { token })).status).toBe(204);
});

test('an operator has a factor too, whatever they look at', async () => {
  const { users, organizationId } = await client.tenant();
  const operator: TestUser = users.operator;
  const headers = { 'x-view-organization': organizationId };
  const ask = (path: string, body?: object) => client.call('POST', path, { token: operator.token, headers, body });

  const begun = await ask('/auth/mfa/totp');
  const confirmed = await ask('/auth/mfa/totp/confirm', { code: codeOf(begun.body.secret, -1) });
  const stepped = await ask('/auth/mfa/verify', { code: codeOf(begun.body.secret) });
  const { body: login } = await client.logIn(operator.email, testPassword);
  const verified = await verify(client, { challenge_id: login.challenge_id, code: codeOf(begun.body.secret, 1) });

  expect([begun.status, confirmed.status, stepped.status, verified.status]).toEqual([201, 200, 200, 200]);
  const places = await client.rows('select distinct organization_id from audit_entries where actor_id = ?', [operator.id]);
  expect(places).toEqual([{ organization_id: null }]);
});
