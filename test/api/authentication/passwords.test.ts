import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { testPassword, tokenFor } from '../../support/tenant.ts';
import { bareRefusal, openClient, type Answer, type Client } from './client.ts';
import { enrol, mailsTo, resetTokenOf, verify, codeOf, makeStale } from './second-factor.ts';

let client: Client;
let second: Client;
const newPassword = 'violet anchor meadow 42';

beforeAll(async () => {
  const env = { RATE_LIMITS: 'anonymous=100000/60,mail_ip=100000/60' };
  client = await openClient({ env });
  const { database, keys, redisPrefix } = client.api;
  second = await openClient({ env, database, keys, redisPrefix });
});
afterAll(async () => {
  await second.close();
  await client.close();
});

const me = (token: string) => client.call('GET', '/auth/me', { token });
const refresh = (token: string) => client.call('POST', '/auth/refresh', { body: { refresh_token: token } });
const change = (token: string, current: string, next = newPassword) =>
  client.call('POST', '/auth/password/change', { token, body: { current_password: current, new_password: next } });
const reset = (process: Client, token: string, next = newPassword) =>
  process.call('POST', '/auth/password/reset', { body: { token, new_password: next } });
const forgot = (email: string) => client.call('POST', '/auth/password/forgot', { body: { email } });
const revoked = { status: 401, body: { code: 'session_revoked' } };

test('a change keeps the current session and ends every other, connected apps too; it is audited and told by mail', async () => {
  const { users, organizationId } = await client.tenant();
  const user = users.member;
  const other = await client.logIn(user.email, testPassword);
  const app = await tokenFor(client.api.db, client.api.keys, user);
  await client.rows("update sessions set kind = 'oauth', client_id = 'lh_oc_app' where id = ?", [app.sessionId]);

  expect((await change(user.token, testPassword)).status).toBe(204);

  expect((await me(user.token)).status).toBe(200);
  expect(await me(other.body.access_token)).toMatchObject(revoked);
  expect(await refresh(other.body.refresh_token)).toMatchObject(revoked);
  expect(await client.rows('select revoke_reason from sessions where id = ?', [app.sessionId])).toEqual([
    { revoke_reason: 'password_changed' },
  ]);
  expect((await client.logIn(user.email, testPassword)).status).toBe(401);
  expect((await client.logIn(user.email, newPassword)).status).toBe(200);
  expect(
    await client.rows("select resource_id, changes from audit_entries where organization_id = ? and operation_id = 'changePassword'", [
      organizationId,
    ]),
  ).toEqual([{ resource_id: user.id, changes: { password: { changed: true } } }]);
  expect(await mailsTo(client, user.id)).toEqual(['password_changed']);
});

test('a wrong current password is 401 login_failed, changes nothing and is noted', async () => {
  const { users } = await client.tenant();
  const user = users.member;
  const other = await client.logIn(user.email, testPassword);

  expect(await change(user.token, 'wrong')).toMatchObject({ status: 401, body: { code: 'login_failed' } });

  expect((await me(other.body.access_token)).status).toBe(200);
  expect((await client.logIn(user.email, testPassword)).status).toBe(200);
  expect(await client.rows('select reason from login_failures where user_id = ?', [user.id])).toEqual([{ reason: 'wrong_password' }]);
});

test('guesses of the current password end in 429', async () => {
  const { users } = await client.tenant();

  for (let round = 0; round < 10; round++) expect((await change(users.member.token, 'wrong')).status).toBe(401);

  expect(await change(users.member.token, testPassword)).toMatchObject({
    status: 429,
    body: { context: { violated_policies: ['mfa'] } },
  });
});

test('of parallel changes one wins, and the others leave its password alone', async () => {
  const { users } = await client.tenant();
  const user = users.member;
  const wanted = ['violet anchor meadow 42', 'copper lantern drifts 17', 'hollow maple thunder 88'];

  const answers = await Promise.all(wanted.map((next) => change(user.token, testPassword, next)));
  const winner = wanted[answers.findIndex(({ status }) => status === 204)] ?? '';

  expect(answers.map(({ status }) => status).toSorted()).toEqual([204, 401, 401]);
  expect((await client.logIn(user.email, winner)).status).toBe(200);
});

test.each([
  ['short', 'Xk9#mQ2$vL7@pZ', 'password_too_short'],
  ['guessable', 'passwordpassword', 'password_guessable'],
  ['repeated', 'abcabcabcabcabcabc', 'password_guessable'],
])('a new password that is %s is 422 at its field, in change and reset, and costs nobody the link', async (_name, next, rule) => {
  const { users } = await client.tenant();
  const token = await resetTokenOf(client, users.member.id);
  const refused = { status: 422, body: { errors: [{ pointer: '/new_password', rule }] } };

  expect(await change(users.member.token, testPassword, next)).toMatchObject(refused);
  expect(await reset(client, token, next)).toMatchObject(refused);
  expect((await reset(client, token)).status).toBe(204);
});

test("one's own address makes a password guessable; with a factor eight characters will do", async () => {
  const { users } = await client.tenant();
  const user = users.member;

  expect(await change(user.token, testPassword, `${user.email}1`)).toMatchObject({
    status: 422,
    body: { errors: [{ rule: 'password_guessable' }] },
  });
  await enrol(client, user.token);
  expect(await change(user.token, testPassword, 'Xk9#mQ2')).toMatchObject({
    status: 422,
    body: { errors: [{ pointer: '/new_password' }] },
  });
  expect((await change(user.token, testPassword, 'Xk9#mQ2$vL')).status).toBe(204);
});

test('passwords are compared after NFC, and counted in characters', async () => {
  const { users } = await client.tenant();
  const user = users.member;
  const decomposed = 'Zu\u0308rich-gro\u0308ße-7Ka\u0308fer';
  // Fourteen characters each, written with more code units and with more code points.
  const short = ['\u{1F40E}k9#mQ2$vL7@pZ', 'u\u0308k9#mQ2$vL7@pZ'];

  for (const next of short) {
    expect(await change(user.token, testPassword, next)).toMatchObject({ status: 422, body: { errors: [{ rule: 'password_too_short' }] } });
  }
  expect((await change(user.token, testPassword, decomposed)).status).toBe(204);
  expect((await client.logIn(user.email, decomposed.normalize('NFC'))).status).toBe(200);
});

test('a reset ends every session, signs nobody in, keeps the factor and confirms the address', async () => {
  const { users, organizationId } = await client.tenant();
  const user = users.member;
  const login = await client.logIn(user.email, testPassword);
  const { secret } = await enrol(client, user.token);
  await client.rows('update user_credentials set email_verified_at = null where user_id = ?', [user.id]);

  const done = await reset(client, await resetTokenOf(client, user.id));

  expect(done).toMatchObject({ status: 204, body: null });
  for (const token of [user.token, login.body.access_token]) expect(await me(token)).toMatchObject(revoked);
  expect(await refresh(login.body.refresh_token)).toMatchObject(revoked);
  expect((await client.logIn(user.email, testPassword)).status).toBe(401);
  const again = await client.logIn(user.email, newPassword);
  expect(again.body.mfa_required).toBe(true);
  expect((await verify(client, { challenge_id: again.body.challenge_id, code: codeOf(secret) })).status).toBe(200);
  expect(
    await client.rows('select email_verified_at is not null as is_verified from user_credentials where user_id = ?', [user.id]),
  ).toEqual([{ is_verified: true }]);
  expect(
    await client.rows(
      "select action, actor_id, resource_id, changes from audit_entries where organization_id = ? and operation_id = 'resetPassword'",
      [organizationId],
    ),
  ).toEqual([{ action: 'update', actor_id: user.id, resource_id: user.id, changes: { password: { changed: true } } }]);
});

test('a reset token works once, also when used in parallel over two processes', async () => {
  const { users } = await client.tenant();
  const token = await resetTokenOf(client, users.member.id);

  const answers = await Promise.all([client, second, client, second].map((process) => reset(process, token)));

  expect(answers.map(({ status }) => status).toSorted()).toEqual([204, 410, 410, 410]);
  expect(await reset(client, token)).toMatchObject({ status: 410, body: { code: 'gone' } });
});

test('a reset token dies with its time, its user, a change of the password and another reset', async () => {
  const { users } = await client.tenant();
  const gone = { status: 410, body: { code: 'gone' } };
  const expired = await resetTokenOf(client, users.viewer.id);
  await client.rows("update auth_challenges set expires_at = now() - interval '1 second' where user_id = ?", [users.viewer.id]);
  const inactive = await resetTokenOf(client, users.admin.id);
  await client.rows('update users set is_active = false where id = ?', [users.admin.id]);
  const changed = await resetTokenOf(client, users.member.id);
  await change(users.member.token, testPassword);
  const [one, other] = [await resetTokenOf(client, users.owner.id), await resetTokenOf(client, users.owner.id)];
  expect((await reset(client, one)).status).toBe(204);

  const answers: Answer[] = [];
  for (const token of [expired, inactive, changed, other]) answers.push(await reset(client, token));

  for (const answer of answers) expect(answer).toMatchObject(gone);
  expect(new Set(answers.map((answer) => JSON.stringify(bareRefusal(answer)))).size).toBe(1);
});

test('a reset gives a change of address up that somebody else may have asked for', async () => {
  const { users } = await client.tenant();
  const user = users.member;
  await client.rows("update user_credentials set pending_email = 'thief@example.test' where user_id = ?", [user.id]);

  await reset(client, await resetTokenOf(client, user.id));

  expect(await client.rows('select pending_email from user_credentials where user_id = ?', [user.id])).toEqual([{ pending_email: null }]);
});

test('forgot gives one answer for every address, writes one mail and looks nobody up', async () => {
  const { users } = await client.tenant();
  const asked = [users.member.email, 'nobody-at-all@example.test', '  NOBODY-else@Example.Test '];
  const answers: Answer[] = [];
  const statements: string[][] = [];

  for (const email of asked) {
    statements.push(await client.statementsOf(async () => answers.push(await forgot(email))));
  }
  const mails = await client.rows<{ email: string; organization_id: null }>(
    "select payload -> 'mail' ->> 'email' as email, organization_id from outbox where payload -> 'mail' ->> 'template' = 'password_reset' order by id",
  );

  expect(answers.map(({ status, body }) => [status, body])).toEqual(asked.map(() => [202, null]));
  expect(statements.map((list) => list.map((sql) => sql.split(' ', 3).join(' ')))).toEqual(
    asked.map(() => statements[0]?.map((sql) => sql.split(' ', 3).join(' '))),
  );
  expect(statements[0]?.filter((sql) => sql.includes('insert'))).toEqual([expect.stringContaining('insert into "outbox"')]);
  expect(mails).toEqual([
    { email: users.member.email, organization_id: null },
    { email: 'nobody-at-all@example.test', organization_id: null },
    { email: 'nobody-else@example.test', organization_id: null },
  ]);
  expect(await client.rows('select 1 from auth_challenges where user_id = ?', [users.member.id])).toEqual([]);
});

test('forgot is counted by account, known or not: the fourth in an hour is 429', async () => {
  const { users } = await client.tenant();

  for (const email of [users.member.email, 'never-a-user@example.test']) {
    for (let round = 0; round < 3; round++) expect((await forgot(email)).status).toBe(202);
    expect(await forgot(email.toUpperCase())).toMatchObject({ status: 429, body: { context: { violated_policies: ['mail_account'] } } });
  }
});

test("forgot is counted by the client's address: the twenty-first in an hour is 429", async () => {
  const { database, keys } = client.api;
  const strict = await openClient({ database, keys });
  const ask = (number: number) => strict.call('POST', '/auth/password/forgot', { body: { email: `user-${number}@example.test` } });

  for (let number = 0; number < 20; number++) expect((await ask(number)).status).toBe(202);
  let refused = await ask(20);
  // The first try of a new process may come before the limiter's connection: it is counted in the process then.
  if (refused.status === 202) refused = await ask(21);
  await strict.close();

  expect(refused).toMatchObject({ status: 429, body: { context: { violated_policies: ['mail_ip'] } } });
});

test("a password change needs a person: keys and other users' names are refused", async () => {
  const { users, serviceKey, organizationOwner } = await client.tenant();
  const body = { current_password: testPassword, new_password: newPassword };

  expect(await client.call('POST', '/auth/password/change', { token: serviceKey.plaintext, body })).toMatchObject({
    status: 403,
    body: { code: 'scope_insufficient', context: { reason: 'user_session_required' } },
  });
  expect(
    await client.call('POST', '/auth/password/change', {
      token: organizationOwner.token,
      headers: { 'x-acting-user': users.member.id },
      body,
    }),
  ).toMatchObject({ status: 403, body: { code: 'resource_forbidden', context: { reason: 'delegation_not_allowed' } } });
});

test('a stale session may change its password: it shows the current one', async () => {
  const { users } = await client.tenant();
  await makeStale(client, users.member.sessionId);

  expect((await change(users.member.token, testPassword)).status).toBe(204);
});

test('no plaintext of a password is in rows or mails', async () => {
  const { users } = await client.tenant();
  await change(users.member.token, testPassword);

  for (const table of ['audit_entries', 'outbox', 'user_credentials', 'login_failures', 'auth_challenges']) {
    expect(JSON.stringify(await client.rows(`select * from ${table}`))).not.toContain(newPassword);
  }
});
