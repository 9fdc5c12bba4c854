import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { hash } from '@node-rs/argon2';
import { createPasswords, isOutdatedHash } from '../../../db/identity/factors/passwords.ts';
import { fail } from '../../../workflows/contracts/failure.ts';
import { testPassword } from '../../support/tenant.ts';
import { bareRefusal, openClient, type Answer, type Client } from './client.ts';
import { mailsTo } from './second-factor.ts';

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

/** Runs of argon2 while `work` runs. */
async function argonRunsOf(work: () => Promise<unknown>): Promise<number> {
  const { passwords } = client.api.deps.identity;
  const { verify, hash: make } = passwords;
  let runs = 0;
  const counted =
    <Args extends unknown[], Result>(run: (...args: Args) => Result) =>
    (...args: Args) => {
      runs += 1;
      return run(...args);
    };
  Object.assign(passwords, { verify: counted(verify), hash: counted(make) });
  await work();
  Object.assign(passwords, { verify, hash: make });
  return runs;
}

test('a login is one run of argon2, whether it succeeds or not', async () => {
  const { users } = await client.tenant();

  expect(await argonRunsOf(() => client.logIn(users.member.email, testPassword))).toBe(1);
  expect(await argonRunsOf(() => client.logIn(users.member.email, 'wrong'))).toBe(1);
  expect(await argonRunsOf(() => client.logIn('nobody-at-all@example.test', 'wrong'))).toBe(1);
});

test('a login gives tokens that work at once, in six statements and one commit', async () => {
  const { users } = await client.tenant();
  let login = await client.call('GET', '/auth/me');

  const statements = await client.statementsOf(async () => {
    login = await client.call('POST', '/auth/login', {
      body: { email: `  ${users.admin.email.toUpperCase()} `, password: testPassword, device_label: 'Laptop' },
      headers: { 'user-agent': 'Browser/1' },
    });
  });

  expect(login.body).toMatchObject({
    mfa_required: false,
    token_type: 'Bearer',
    expires_in: 600,
    refresh_token: expect.stringMatching(/^lh_rt_[\w-]{43}$/),
    user: { id: users.admin.id, email: users.admin.email, role: 'admin', mfa_enabled: false, last_login_at: expect.any(String) },
    challenge_id: null,
    methods: [],
    challenge_expires_at: null,
  });
  expect(statements.length).toBeLessThanOrEqual(6);

  const me = await client.call('GET', '/auth/me', { token: login.body.access_token });

  expect(me.body.session).toMatchObject({
    id: login.body.session_id,
    device_label: 'Laptop',
    user_agent: 'Browser/1',
    ip_truncated: '127.0.0.0/24',
    current: true,
  });
});

test('a login is audited once, a refused one never, but noted with its reason', async () => {
  const { users, organizationId } = await client.tenant();

  await client.logIn(users.viewer.email, testPassword);
  await client.logIn(users.viewer.email, 'wrong password');

  const audited = await client.rows('select action, actor_id, operation_id from audit_entries where organization_id = ?', [organizationId]);
  const failures = await client.rows('select user_id, reason, ip_truncated from login_failures where organization_id = ?', [
    organizationId,
  ]);

  expect(audited).toEqual([{ action: 'login', actor_id: users.viewer.id, operation_id: 'login' }]);
  expect(failures).toEqual([{ user_id: users.viewer.id, reason: 'wrong_password', ip_truncated: '127.0.0.0/24' }]);
});

test('unknown address, wrong password and inactive user give one answer and cost the same', async () => {
  const { users } = await client.tenant();

  await client.rows('update users set is_active = false where id = ?', [users.member.id]);
  const attempts = [
    ['nobody@example.test', testPassword],
    [users.viewer.email, 'not the password'],
    [users.member.email, testPassword],
  ] as const;
  const { passwords } = client.api.deps.identity;
  const { verify } = passwords;
  const verified: (string | null)[] = [];
  passwords.verify = (storedHash, password) => {
    verified.push(storedHash);
    return verify(storedHash, password);
  };
  const answers = [];

  for (const [email, password] of attempts) answers.push(await client.logIn(email, password));
  passwords.verify = verify;

  expect(new Set(answers.map((answer) => JSON.stringify(bareRefusal(answer)))).size).toBe(1);
  expect(answers[0]).toMatchObject({
    status: 401,
    body: { code: 'login_failed' },
    headers: { 'www-authenticate': expect.stringContaining('Bearer') },
  });
  // Each paid for one Argon2: the unknown address for that of the dummy, which is made as hashes are made today.
  expect(verified).toEqual([null, expect.stringContaining('$argon2id$'), expect.stringContaining('$argon2id$')]);
  const asked: string[] = [];
  const recording = createPasswords({ verify: async (storedHash) => asked.push(storedHash) > 0, hash: async () => '' });
  expect(await recording.verify(null, 'anything')).toBe(false);
  expect(asked.map(isOutdatedHash)).toEqual([false]);
});

test('the sixth failure in a minute is 429, also with the right password then, which is not looked at; another account is not held up', async () => {
  const { users } = await client.tenant();

  const { passwords } = client.api.deps.identity;
  const { verify } = passwords;
  let looks = 0;
  passwords.verify = (...asked) => {
    looks += 1;
    return verify(...asked);
  };

  for (let round = 0; round < 5; round++) expect((await client.logIn(users.owner.email, `guess ${round}`)).status).toBe(401);
  const refused = await client.logIn(users.owner.email, testPassword);
  passwords.verify = verify;

  expect(looks).toBe(5);
  expect(refused).toMatchObject({ status: 429, body: { code: 'rate_limited', context: { violated_policies: ['login_pair'] } } });
  expect(Number(refused.headers['retry-after'])).toBeGreaterThanOrEqual(1);
  expect((await client.logIn(users.admin.email, testPassword)).status).toBe(200);
});

test('a sign-in whose password was not looked at counts no failure', async () => {
  const { users } = await client.tenant();
  const { passwords } = client.api.deps.identity;
  const { verify } = passwords;
  passwords.verify = async () => {
    throw fail('rate_limited', { context: { violated_policies: ['password_hashing'] } });
  };
  for (let round = 0; round < 9; round++) expect((await client.logIn(users.owner.email, 'guess')).status).toBe(429);
  passwords.verify = verify;

  const refused = await client.logIn(users.owner.email, 'guess');

  expect(refused).toMatchObject({ status: 401, headers: { ratelimit: expect.stringContaining('"login_pair";r=4;') } });
});

test('a sign-in tells what remains of its own policies before what remains of the common one', async () => {
  const { users } = await client.tenant();
  const policiesOf = (answer: Answer) =>
    String(answer.headers['ratelimit-policy'])
      .split(', ')
      .map((item) => item.split(';')[0]);
  const restOf = (answer: Answer, policy: string) => new RegExp(`"${policy}";r=(\\d+)`).exec(String(answer.headers['ratelimit']))?.[1];

  const failed = await client.logIn(users.viewer.email, 'wrong');
  const succeeded = await client.logIn(users.viewer.email, testPassword);
  for (let round = 0; round < 5; round++) await client.logIn(users.viewer.email, 'wrong');
  const blocked = await client.logIn(users.viewer.email, 'wrong');
  const refreshed = await refresh(succeeded.body.refresh_token);

  expect(policiesOf(failed)).toEqual(['"login_pair"', '"login_account"', '"login_ip"', '"anonymous"']);
  expect([failed, succeeded, blocked].map((answer) => restOf(answer, 'login_pair'))).toEqual(['4', '5', '0']);
  expect(policiesOf(blocked)).toEqual(policiesOf(failed));
  expect([blocked.status, policiesOf(refreshed)]).toEqual([429, ['"refresh"', '"anonymous"']]);
});

test('a hash with other parameters is replaced at login', async () => {
  const { users } = await client.tenant();
  const outdated = await hash(testPassword, { memoryCost: 8_192, timeCost: 1, parallelism: 1 });

  await client.rows('update user_credentials set password_hash = ? where user_id = ?', [outdated, users.member.id]);
  const login = await client.logIn(users.member.email, testPassword);
  const [stored] = await client.rows<{ password_hash: string }>('select password_hash from user_credentials where user_id = ?', [
    users.member.id,
  ]);

  expect(login.status).toBe(200);
  expect(stored?.password_hash).toContain('m=19456,t=2,p=1');
  expect((await client.logIn(users.member.email, testPassword)).status).toBe(200);
});

test('a suspended organization stops no sign-in, and a user with a second factor gets no session by password alone', async () => {
  const { users, organizationId } = await client.tenant();

  await client.rows("update organizations set status = 'suspended' where id = ?", [organizationId]);
  await client.rows("insert into totp_factors (user_id, organization_id, secret_enc, confirmed_at) values (?, ?, '\\x00', now())", [
    users.admin.id,
    organizationId,
  ]);

  expect((await client.logIn(users.viewer.email, testPassword)).status).toBe(200);
  expect((await client.logIn(users.admin.email, testPassword)).body).toMatchObject({
    mfa_required: true,
    access_token: null,
    refresh_token: null,
    session_id: null,
    user: null,
  });
});

test.each([
  ['role', { role: 'owner' }],
  ['is_active', { is_active: true }],
  ['an overlong password', { password: 'x'.repeat(257) }],
])('%s in the body of a login is 422', async (_name, extra) => {
  const answer = await client.call('POST', '/auth/login', { body: { email: 'a@example.test', password: 'x', ...extra } });

  expect(answer).toMatchObject({ status: 422, body: { code: 'validation_failed' } });
});

async function openSession(): Promise<{ access: string; refresh: string; sessionId: string; email: string; organizationId: string }> {
  const { users, organizationId } = await client.tenant();
  const { body } = await client.logIn(users.member.email, testPassword);

  return { access: body.access_token, refresh: body.refresh_token, sessionId: body.session_id, email: users.member.email, organizationId };
}

const refresh = (token: string) => client.call('POST', '/auth/refresh', { body: { refresh_token: token } });
const me = (token: string) => client.call('GET', '/auth/me', { token });

test('of 20 parallel refreshes over two processes one wins, nineteen are superseded, and the session lives', async () => {
  const session = await openSession();
  const refreshAt = (process: Client) => process.call('POST', '/auth/refresh', { body: { refresh_token: session.refresh } });

  const answers = await Promise.all(Array.from({ length: 20 }, (_, at) => refreshAt(at % 2 === 0 ? client : second)));
  const winners = answers.filter((answer) => answer.status === 200);
  const losers = answers.filter((answer) => answer.status !== 200);

  expect(winners).toHaveLength(1);
  expect(losers.map(({ status, body }) => [status, body.code])).toEqual(Array.from({ length: 19 }, () => [409, 'refresh_superseded']));
  expect(JSON.stringify(losers)).not.toContain('lh_rt_');
  expect(winners[0]?.body).toMatchObject({
    token_type: 'Bearer',
    expires_in: 600,
    session_id: session.sessionId,
    user: { email: session.email },
  });
  expect((await me(winners[0]?.body.access_token)).status).toBe(200);
  expect((await refresh(winners[0]?.body.refresh_token)).status).toBe(200);
});

test('a used token that comes back after the race rule ends the family, although that reply is an error', async () => {
  const session = await openSession();
  const next = await refresh(session.refresh);

  await client.rows("update refresh_tokens set used_at = used_at - interval '11 seconds' where session_id = ? and used_at is not null", [
    session.sessionId,
  ]);
  const reuse = await refresh(session.refresh);

  expect(reuse).toMatchObject({ status: 401, body: { code: 'refresh_reuse_detected' } });
  expect(await refresh(next.body.refresh_token)).toMatchObject({ status: 401, body: { code: 'session_revoked' } });
  expect(await refresh(session.refresh)).toMatchObject({ status: 401, body: { code: 'session_revoked' } });
  for (const token of [session.access, next.body.access_token]) {
    expect(await me(token)).toMatchObject({ status: 401, body: { code: 'session_revoked' } });
  }
  expect(
    await client.rows('select action, resource_id, operation_id from audit_entries where organization_id = ? order by id', [
      session.organizationId,
    ]),
  ).toEqual([
    { action: 'login', resource_id: session.sessionId, operation_id: 'login' },
    { action: 'logout', resource_id: session.sessionId, operation_id: 'refreshTokens' },
  ]);
});

test('a family that ends by reuse is told to its owner once, also when the old token comes back twice at once', async () => {
  const { users } = await client.tenant();
  const { body } = await client.logIn(users.member.email, testPassword);
  await refresh(body.refresh_token);
  await client.rows("update refresh_tokens set used_at = used_at - interval '11 seconds' where session_id = ? and used_at is not null", [
    body.session_id,
  ]);

  const answers = await Promise.all([1, 2, 3].map(() => refresh(body.refresh_token)));

  for (const answer of answers) expect(answer.status).toBe(401);
  expect(await mailsTo(client, users.member.id)).toEqual(['refresh_reuse']);
  expect(await client.rows("select 1 from audit_entries where resource_id = ? and action = 'logout'", [body.session_id])).toHaveLength(1);
});

test('a refresh is four statements and one commit; a lost race writes nothing', async () => {
  const session = await openSession();

  const winning = await client.statementsOf(() => refresh(session.refresh));
  // However slow the machine is, the second one comes within the ten seconds of a race.
  await client.rows("update refresh_tokens set used_at = now() + interval '1 hour' where session_id = ? and used_at is not null", [
    session.sessionId,
  ]);
  const before = await client.rows('select id, used_at from refresh_tokens where session_id = ? order by id', [session.sessionId]);
  const losing = await client.statementsOf(() => refresh(session.refresh));

  expect(winning).toHaveLength(4);
  expect(losing.length).toBeLessThanOrEqual(4);
  expect(await client.rows('select id, used_at from refresh_tokens where session_id = ? order by id', [session.sessionId])).toEqual(before);
});

test('a logout ends access and refresh tokens at once, and an old refresh gives nothing of a later login', async () => {
  const session = await openSession();

  expect((await client.call('POST', '/auth/logout', { token: session.access })).status).toBe(204);
  await client.logIn(session.email, testPassword);

  expect(await me(session.access)).toMatchObject({ status: 401, body: { code: 'session_revoked' } });
  expect(await refresh(session.refresh)).toMatchObject({ status: 401, body: { code: 'session_revoked' } });
});

test('a session ended by time is token_expired, its refresh token credential_invalid', async () => {
  const session = await openSession();

  await client.rows("update sessions set idle_expires_at = now() - interval '1 second' where id = ?", [session.sessionId]);

  expect(await me(session.access)).toMatchObject({ status: 401, body: { code: 'token_expired' } });
  expect(await refresh(session.refresh)).toMatchObject({ status: 401, body: { code: 'credential_invalid' } });
});

test("the life of a session follows the organization's settings", async () => {
  const { users, organizationId } = await client.tenant();

  await client.rows('update organization_settings set session_idle_days = 2, session_absolute_days = 3 where organization_id = ?', [
    organizationId,
  ]);
  const { body } = await client.logIn(users.member.email, testPassword);
  const [session] = await client.rows<{ idle: number; absolute: number }>(
    'select extract(epoch from idle_expires_at - created_at)::int as idle, extract(epoch from expires_at - created_at)::int as absolute from sessions where id = ?',
    [body.session_id],
  );

  expect(session).toEqual({ idle: 2 * 86_400, absolute: 3 * 86_400 });
  expect(Date.parse(body.refresh_expires_at) - Date.now()).toBeLessThanOrEqual(2 * 86_400_000);
});

test('a deactivated user gets no new tokens', async () => {
  const session = await openSession();

  await client.rows('update users set is_active = false where email = ?', [session.email]);

  expect(await refresh(session.refresh)).toMatchObject({ status: 401, body: { code: 'session_revoked' } });
});

test.each([
  ['garbled', 'lh_rt_short'],
  ['unknown', `lh_rt_${'A'.repeat(43)}`],
  ['of another kind', `lh_st_${'A'.repeat(43)}`],
])('a refresh token that is %s is credential_invalid', async (_name, token) => {
  expect(await refresh(token)).toMatchObject({ status: 401, body: { code: 'credential_invalid' } });
});
