import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { bearer, testPassword } from '../../support/tenant.ts';
import { enrol, mailedToken, resetTokenOf, verify } from '../authentication/second-factor.ts';
import { approve, basic, exchange, grantTo } from '../oauth/client.ts';
import { makeSomebody, openStage, type Somebody, type Stage } from './stage.ts';

let stage: Stage;

beforeAll(async () => {
  stage = await openStage();
});
afterAll(() => stage.close());

const gone = { status: 410, body: { code: 'gone' } };
const invalidGrant = { status: 400, body: { error: 'invalid_grant' } };
const confirm = (token: string) => stage.client.call('POST', '/auth/email/confirm', { body: { token } });

/** A change of address that a session has asked for: the token of its mail. */
async function askForAddress({ user }: Somebody, token: string): Promise<string> {
  const email = `new-${crypto.randomUUID()}@example.test`;
  expect((await stage.client.call('PATCH', '/auth/me', { token, body: { email } })).status).toBe(200);
  return mailedToken(stage.client, 'email_confirm', user.id);
}

const demandFactor = ({ tenant }: Somebody) =>
  stage.client.rows('update organization_settings set require_mfa = true where organization_id = ?', [tenant.organizationId]);

test('what a session has asked for ends with it by whatever hand, and lives on with a session that goes on', async () => {
  const somebody = await makeSomebody(stage, { hasFactor: false });
  const { put, other, tenant } = somebody;
  const app = await stage.oauth.client(tenant.tokens.operator);
  const [dead, alive] = [await approve(stage.oauth, app, { token: put.token }), await approve(stage.oauth, app, { token: other.token })];
  const address = await askForAddress(somebody, put.token);

  await stage.client.rows('update sessions set revoked_at = now() where id = ?', [put.sessionId]);

  expect(await confirm(address)).toMatchObject(gone);
  expect(await exchange(stage.oauth, app, dead)).toMatchObject(invalidGrant);
  expect((await exchange(stage.oauth, app, alive)).status).toBe(200);
  expect((await confirm(await askForAddress(somebody, other.token))).status).toBe(204);
});

test('another session that is ended one by one takes nothing of the others along', async () => {
  const somebody = await makeSomebody(stage, { hasFactor: false });
  const { put, other, acting } = somebody;
  const address = await askForAddress(somebody, other.token);

  expect((await stage.client.call('DELETE', `/sessions/${put.sessionId}`, { token: acting })).status).toBe(204);

  expect((await stage.client.call('GET', '/auth/me', { token: other.token })).body.pending_email).toEqual(expect.any(String));
  expect((await confirm(address)).status).toBe(204);
});

test('a change of address whose session nobody has noted ends with any of the person', async () => {
  const somebody = await makeSomebody(stage, { hasFactor: false });
  const { put, other, acting, user } = somebody;
  const address = await askForAddress(somebody, other.token);
  await stage.client.rows('update auth_challenges set session_id = null where user_id = ?', [user.id]);

  expect((await stage.client.call('DELETE', `/sessions/${put.sessionId}`, { token: acting })).status).toBe(204);

  expect((await stage.client.call('GET', '/auth/me', { token: acting })).body.pending_email).toBeNull();
  expect(await confirm(address)).toMatchObject(gone);
});

test('an account is not to be had by a change of address from before: neither confirmed nor by a reset that goes there', async () => {
  const somebody = await makeSomebody(stage, { hasFactor: false });
  const { put, acting, user } = somebody;
  const address = await askForAddress(somebody, put.token);
  const body = { current_password: testPassword, new_password: 'amber violin harvest 77' };

  expect((await stage.client.call('POST', '/auth/password/change', { token: acting, body })).status).toBe(204);

  expect(await confirm(address)).toMatchObject(gone);
  const [row] = await stage.client.rows('select email from users where id = ?', [user.id]);
  expect(row).toEqual({ email: user.email });
});

test('while a factor is demanded, an app goes on that was connected by it; one connected by the password alone does not, nor is it active', async () => {
  const somebody = await makeSomebody(stage, { hasFactor: true });
  const { put, other, tenant } = somebody;
  const app = await stage.oauth.client(tenant.tokens.operator, { token_endpoint_auth_method: 'client_secret_post' });
  const proof = { client_id: app.clientId, client_secret: app.secret ?? '' };
  // A session by password alone beside a factor, as there are from before a confirmation ended them.
  await stage.client.rows("update sessions set mfa_level = 'none' where id = ?", [other.sessionId]);
  const connect = async (token: string) => (await exchange(stage.oauth, app, await approve(stage.oauth, app, { token }), proof)).body;
  const [byFactor, byPassword] = [await connect(put.token), await connect(other.token)];
  const pending = await approve(stage.oauth, app, { token: other.token });
  const agents = (access: string) => stage.oauth.get('/agents', bearer(access));
  const introspect = (token: string) => stage.oauth.form('/oauth/introspect', { token }, basic(app));
  expect([(await agents(byFactor.access_token)).status, (await agents(byPassword.access_token)).status]).toEqual([200, 200]);

  await demandFactor(somebody);

  expect((await agents(byFactor.access_token)).status).toBe(200);
  expect(await agents(byPassword.access_token)).toMatchObject({
    status: 401,
    body: { code: 'mfa_required', context: { reason: 'step_up_required' } },
  });
  expect((await introspect(byFactor.access_token)).body.active).toBe(true);
  expect((await introspect(byPassword.access_token)).body).toEqual({ active: false });
  expect(await exchange(stage.oauth, app, pending, proof)).toMatchObject(invalidGrant);
});

test('with a demanded factor no session and no app from before passes because another session has enrolled', async () => {
  const somebody = await makeSomebody(stage, { hasFactor: false });
  const { put, other, acting, tenant } = somebody;
  const app = await stage.oauth.client(tenant.tokens.operator);
  const grant = await grantTo(stage.oauth, app, put);
  await demandFactor(somebody);

  await enrol(stage.client, acting);

  for (const token of [put.token, other.token, grant.access])
    expect(await stage.oauth.get('/agents', bearer(token))).toMatchObject({ status: 401, body: { code: 'session_revoked' } });
  expect((await stage.client.call('GET', '/agents', { token: acting })).status).toBe(200);
});

test('a half-done sign-in and a link to reset the password end when everything ends, and not with one session', async () => {
  const somebody = await makeSomebody(stage, { hasFactor: true });
  const { put, acting, user, factor } = somebody;
  const { body: login } = await stage.client.logIn(user.email, testPassword);
  const reset = await resetTokenOf(stage.client, user.id);
  const tryReset = () => stage.client.call('POST', '/auth/password/reset', { body: { token: reset, new_password: 'password' } });
  const answer = () => verify(stage.client, { challenge_id: login.challenge_id, method: 'recovery_code', code: factor?.codes[5] });

  await stage.client.call('DELETE', `/sessions/${put.sessionId}`, { token: acting });
  expect((await tryReset()).status).toBe(422);
  await stage.client.call('POST', '/sessions/revoke-others', { token: acting });

  expect(await tryReset()).toMatchObject(gone);
  expect(await answer()).toMatchObject({ status: 401, body: { code: 'mfa_code_invalid' } });
});
