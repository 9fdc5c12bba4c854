import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { newId } from '../../../db/ids.ts';
import { newOpaqueToken } from '../../../db/identity/factors/opaque-tokens.ts';
import { testPassword, type TestTenant, type TestUser } from '../../support/tenant.ts';
import { bareRefusal, openClient, type Client } from './client.ts';
import { codeOf, enrol, mailsTo, resetTokenOf, verify, wrongCode, type Enrolled } from './second-factor.ts';

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

interface WithFactor extends Enrolled {
  readonly tenant: TestTenant;
  readonly user: TestUser;
}

async function userWithFactor(): Promise<WithFactor> {
  const tenant = await client.tenant();
  const user = tenant.users.member;
  return { tenant, user, ...(await enrol(client, user.token)) };
}

async function challengeOf(user: TestUser): Promise<string> {
  const { body } = await client.logIn(user.email, testPassword);
  return body.challenge_id;
}

const dead = { status: 401, body: { code: 'mfa_code_invalid' } };

test('right password and confirmed factor: a challenge, no token, nothing audited; the code opens the session', async () => {
  const { user, secret } = await userWithFactor();
  const loginsOf = () => client.rows("select resource_id from audit_entries where action = 'login' and actor_id = ?", [user.id]);
  let login = await client.call('GET', '/auth/me');

  const statements = await client.statementsOf(async () => {
    login = await client.call('POST', '/auth/login', { body: { email: user.email, password: testPassword, device_label: 'Phone' } });
  });
  const before = await loginsOf();
  const verified = await verify(client, { challenge_id: login.body.challenge_id, code: codeOf(secret) });
  const me = await client.call('GET', '/auth/me', { token: verified.body.access_token });

  expect(statements.length).toBeLessThanOrEqual(6);
  expect(login).toMatchObject({ status: 200, body: { mfa_required: true, access_token: null, methods: ['totp', 'recovery_code'] } });
  const lifeMs = Date.parse(login.body.challenge_expires_at) - Date.now();
  expect(lifeMs).toBeGreaterThan(290_000);
  expect(lifeMs).toBeLessThanOrEqual(301_000);
  expect(before).toEqual([]);
  expect(verified).toMatchObject({ status: 200, body: { token_type: 'Bearer', refresh_token: expect.stringMatching(/^lh_rt_/) } });
  expect(me.body).toMatchObject({
    user: { last_login_at: expect.any(String), mfa_enabled: true },
    session: { mfa_level: 'totp', device_label: 'Phone' },
    mfa: { enrolled: true, required: false, fresh_until: expect.any(String) },
  });
  expect(await loginsOf()).toEqual([{ resource_id: verified.body.session_id }]);
});

test('a challenge is used once, also when right codes come at once over two processes', async () => {
  const { user, secret } = await userWithFactor();
  const challenge = await challengeOf(user);
  const body = { challenge_id: challenge, code: codeOf(secret) };

  const answers = await Promise.all([client, second, client, second, client].map((process) => verify(process, body)));

  expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 401, 401, 401, 401]);
  expect(await verify(client, { challenge_id: challenge, code: codeOf(secret) })).toMatchObject(dead);
});

test('a code is spent once it was accepted, for other challenges and step-ups too, and so are the ones before it', async () => {
  const { user, secret } = await userWithFactor();
  const spent = codeOf(secret);
  const challenges = [await challengeOf(user), await challengeOf(user), await challengeOf(user)];
  const answer = (process: Client, at: number, code: string) => verify(process, { challenge_id: challenges[at], code });

  const atOnce = await Promise.all([answer(client, 0, spent), answer(second, 1, spent)]);
  const again = [
    await answer(second, 2, spent),
    await verify(client, { code: spent }, user.token),
    await answer(client, 2, codeOf(secret, -1)),
  ];
  const next = await answer(second, 2, codeOf(secret, 1));

  expect(atOnce.map(({ status }) => status).toSorted()).toEqual([200, 401]);
  for (const refused of again) expect(refused).toMatchObject(dead);
  expect(next.status).toBe(200);
});

test('the code that confirmed a factor signs nobody in', async () => {
  const { users } = await client.tenant();
  const user = users.member;
  const begun = await client.call('POST', '/auth/mfa/totp', { token: user.token });
  const code = codeOf(begun.body.secret);

  const confirmed = await client.call('POST', '/auth/mfa/totp/confirm', { token: user.token, body: { code } });
  const replayed = await verify(client, { challenge_id: await challengeOf(user), code });

  expect(confirmed.status).toBe(200);
  expect(replayed).toMatchObject(dead);
});

test('after five wrong codes the challenge is dead for the right one too, also when they came in parallel over two processes', async () => {
  const { user, secret } = await userWithFactor();
  const challenge = await challengeOf(user);
  const wrong = { challenge_id: challenge, code: wrongCode(secret) };

  const answers = await Promise.all([client, second, client, second, client].map((process) => verify(process, wrong)));
  const right = await verify(client, { challenge_id: challenge, code: codeOf(secret) });
  const [stored] = await client.rows('select attempts, used_at from auth_challenges where id = ?', [challenge]);

  expect(answers.map(({ status, body }) => [status, body.code])).toEqual(answers.map(() => [401, 'mfa_code_invalid']));
  expect(right).toMatchObject(dead);
  expect(stored).toEqual({ attempts: 5, used_at: null });
  expect(new Set([...answers, right].map((answer) => JSON.stringify(bareRefusal(answer)))).size).toBe(1);
});

test('the fifth try may still be right', async () => {
  const { user, secret } = await userWithFactor();
  const challenge = await challengeOf(user);

  for (let round = 0; round < 4; round++)
    expect(await verify(client, { challenge_id: challenge, code: wrongCode(secret) })).toMatchObject(dead);

  expect((await verify(client, { challenge_id: challenge, code: codeOf(secret) })).status).toBe(200);
});

test('unknown, used, expired and over-tried challenges are one answer; a wrong code is noted and never audited', async () => {
  const { user, tenant, secret } = await userWithFactor();
  const expired = await challengeOf(user);
  await client.rows("update auth_challenges set expires_at = now() - interval '1 second' where id = ?", [expired]);
  const open = await challengeOf(user);
  const auditedBefore = await client.rows('select id from audit_entries where organization_id = ?', [tenant.organizationId]);

  const answers = [
    await verify(client, { challenge_id: newId(), code: codeOf(secret) }),
    await verify(client, { challenge_id: expired, code: codeOf(secret) }),
    await verify(client, { challenge_id: open, code: wrongCode(secret) }),
    await verify(client, { challenge_id: open, code: 'not a code' }),
  ];

  expect(new Set(answers.map((answer) => JSON.stringify(bareRefusal(answer)))).size).toBe(1);
  expect(answers[0]).toMatchObject({ ...dead, headers: { 'www-authenticate': expect.stringContaining('Bearer') } });
  expect(await client.rows('select reason from login_failures where user_id = ?', [user.id])).toEqual([
    { reason: 'wrong_code' },
    { reason: 'wrong_code' },
  ]);
  expect(await client.rows('select id from audit_entries where organization_id = ?', [tenant.organizationId])).toHaveLength(
    auditedBefore.length,
  );
});

test('tries count against the user: the eleventh in five minutes is 429, whatever the challenge', async () => {
  const { user, secret } = await userWithFactor();
  // The confirmation of the factor was one.
  const challenges = [await challengeOf(user), await challengeOf(user), await challengeOf(user)];

  for (let round = 0; round < 9; round++) {
    expect((await verify(client, { challenge_id: challenges[Math.floor(round / 4)], code: wrongCode(secret) })).status).toBe(401);
  }

  expect(await verify(second, { challenge_id: challenges[2], code: codeOf(secret) })).toMatchObject({
    status: 429,
    body: { code: 'rate_limited', context: { violated_policies: ['mfa'] } },
  });
});

test('a recovery code stands in once, as people type it; of two uses at once one is let in', async () => {
  const { user, codes } = await userWithFactor();
  const [first = '', other = ''] = codes;
  const [one, two, three] = [await challengeOf(user), await challengeOf(user), await challengeOf(user)];
  const use = (process: Client, challenge: string, code: string) =>
    verify(process, { challenge_id: challenge, method: 'recovery_code', code });

  const typed = await use(client, one, ` ${first.toUpperCase().replaceAll('-', ' ')} `);
  const both = await Promise.all([use(client, two, other), use(second, three, other)]);
  const me = await client.call('GET', '/auth/me', { token: typed.body.access_token });

  expect(typed.status).toBe(200);
  expect(me.body.session.mfa_level).toBe('recovery_code');
  expect(both.map(({ status }) => status).toSorted()).toEqual([200, 401]);
  expect(await use(client, await challengeOf(user), first)).toMatchObject(dead);
});

test('codes are ten of 80 bits, stored as digests only, and the last one used up is told by mail', async () => {
  const { user, codes } = await userWithFactor();
  const [last = ''] = codes;

  expect(codes).toHaveLength(10);
  expect(new Set(codes).size).toBe(10);
  for (const code of codes) expect(code).toMatch(/^[a-z2-7]{4}(-[a-z2-7]{4}){3}$/);
  const stored = await client.rows('select * from recovery_codes where user_id = ?', [user.id]);
  expect(JSON.stringify(stored)).not.toContain(last);
  await client.rows('update recovery_codes set used_at = now() where user_id = ?', [user.id]);
  const without = await client.logIn(user.email, testPassword);
  expect(without.body.methods).toEqual(['totp']);

  await client.rows('delete from recovery_codes where user_id = ?', [user.id]);
  const { body } = await client.call('POST', '/auth/mfa/recovery-codes', { token: user.token });
  await client.rows(
    'update recovery_codes set used_at = now() where user_id = ? and code_hash <> (select min(code_hash) from recovery_codes where user_id = ?)',
    [user.id, user.id],
  );
  let opened = 0;
  for (const code of body.codes) {
    const { database, keys } = client.api;
    // A limit of its own: ten codes are more than the policy lets a user try.
    const process = await openClient({ database, keys });
    opened += (await verify(process, { challenge_id: await challengeOf(user), method: 'recovery_code', code })).status === 200 ? 1 : 0;
    await process.close();
  }

  expect(opened).toBe(1);
  expect(await mailsTo(client, user.id)).toEqual(['factor_added', 'recovery_codes_replaced', 'recovery_codes_used_up']);
});

test('reset token, confirmation token and login challenge are worthless to each other', async () => {
  const { user, secret } = await userWithFactor();
  const challenge = await challengeOf(user);
  const token = await resetTokenOf(client, user.id);
  const [reset] = await client.rows<{ id: string }>("select id from auth_challenges where user_id = ? and purpose = 'password_reset'", [
    user.id,
  ]);
  const confirm = (shown: string) => client.call('POST', '/auth/email/confirm', { body: { token: shown } });
  const gone = { status: 410, body: { code: 'gone' } };

  expect(await verify(client, { challenge_id: reset?.id, code: codeOf(secret) })).toMatchObject(dead);
  expect(await confirm(token)).toMatchObject(gone);
  expect(await confirm(challenge)).toMatchObject(gone);
  for (const shown of [challenge, newOpaqueToken('mail'), 'garbled']) {
    const answer = await client.call('POST', '/auth/password/reset', { body: { token: shown, new_password: 'violet anchor meadow 42' } });
    expect(answer).toMatchObject(gone);
  }
  expect((await verify(client, { challenge_id: challenge, code: codeOf(secret) })).status).toBe(200);
});

test('a challenge dies with the password that was right, and with its user', async () => {
  const { user, secret } = await userWithFactor();
  const first = await challengeOf(user);
  const body = { current_password: testPassword, new_password: 'violet anchor meadow 42' };

  expect((await client.call('POST', '/auth/password/change', { token: user.token, body })).status).toBe(204);
  const { body: again } = await client.logIn(user.email, 'violet anchor meadow 42');
  await client.rows('update users set is_active = false where id = ?', [user.id]);

  expect(await verify(client, { challenge_id: first, code: codeOf(secret) })).toMatchObject(dead);
  expect(await verify(client, { challenge_id: again.challenge_id, code: codeOf(secret) })).toMatchObject(dead);
});

test('a sign-in that is completed while the password is reset never outlives the reset', async () => {
  const { user, secret } = await userWithFactor();

  for (let round = 0; round < 4; round++) {
    const password = `violet anchor meadow ${40 + round}`;
    const { body: login } = await client.logIn(user.email, round === 0 ? testPassword : `violet anchor meadow ${39 + round}`);
    const token = await resetTokenOf(client, user.id);
    // As if enough time had passed for a code that is not spent.
    await client.rows('update totp_factors set last_step = null where user_id = ?', [user.id]);
    const [verified, reset] = await Promise.all([
      verify(second, { challenge_id: login.challenge_id, code: codeOf(secret) }),
      client.call('POST', '/auth/password/reset', { body: { token, new_password: password } }),
    ]);

    expect(reset.status).toBe(204);
    expect([200, 401]).toContain(verified.status);
    if (verified.status === 200) expect((await client.call('GET', '/auth/me', { token: verified.body.access_token })).status).toBe(401);
    expect(await client.rows('select 1 from sessions where user_id = ? and revoked_at is null', [user.id])).toEqual([]);
  }
});

test.each([
  ['no challenge', {}, '/challenge_id'],
  ['a password for a challenge', { challenge_id: '019a2b3c-4d5e-7f60-8a9b-0c1d2e3f4a5b', method: 'password' }, '/method'],
  ['an unknown method', { method: 'sms' }, '/method'],
])('%s is 422', async (_name, body, pointer) => {
  expect(await verify(client, { code: '123456', ...body })).toMatchObject({ status: 422, body: { errors: [{ pointer }] } });
});
