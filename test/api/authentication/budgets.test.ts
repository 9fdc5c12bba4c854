import { tmpdir } from 'node:os';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { testPassword } from '../../support/tenant.ts';
import { openClient, type Client } from './client.ts';
import { codeOf, enrol, resetTokenOf, verify } from './second-factor.ts';

let client: Client;

beforeAll(async () => {
  client = await openClient({ env: { MAIL_DIR: tmpdir() } });
});
afterAll(() => client.close());

/** Transactions that have written the rows that a session is made of, by the server's own number. */
async function writersOf(sessionId: string, userId: string): Promise<string[]> {
  const found = await client.rows<{ writer: string }>(
    `select distinct writer from (
       select xmin::text as writer from sessions where id = ?
       union all select xmin::text from refresh_tokens where session_id = ?
       union all select xmin::text from users where id = ?
       union all select xmin::text from audit_entries where resource_id = ?) as written`,
    [sessionId, sessionId, userId, sessionId],
  );
  return found.map(({ writer }) => writer);
}

/** Statements of the work itself: without authentication, begin, settings and commit. */
function ofHandler(statements: readonly string[]): string[] {
  return statements.filter((sql) => !/^\s*(begin|commit|select (gate_|set_config))/i.test(sql));
}

test("changes of one's own account cost six statements at most", async () => {
  const { users } = await client.tenant();
  const user = users.member;
  const { token } = user;
  const post = (path: string, body?: object) => client.call('POST', path, { token, body });
  await client.call('GET', '/auth/me', { token });
  await post('/auth/mfa/totp');
  const begun = await post('/auth/mfa/totp');
  const reset = await resetTokenOf(client, users.viewer.id);
  const change = { current_password: testPassword, new_password: 'violet anchor meadow 42' };

  const costs = {
    confirm: await client.statementsOf(() => post('/auth/mfa/totp/confirm', { code: codeOf(begun.body.secret) })),
    renew: await client.statementsOf(() => post('/auth/mfa/recovery-codes')),
    remove: await client.statementsOf(() => client.call('DELETE', '/auth/mfa/totp', { token })),
    enrol: await client.statementsOf(() => post('/auth/mfa/totp')),
    // Its own credential is read before the transaction.
    change: (await client.statementsOf(() => post('/auth/password/change', change))).filter(
      (sql) => !sql.includes('"c"."password_hash" as "passwordHash"'),
    ),
    reset: await client.statementsOf(() =>
      client.call('POST', '/auth/password/reset', { body: { token: reset, new_password: 'violet anchor meadow 42' } }),
    ),
    revokeOthers: await client.statementsOf(() => post('/sessions/revoke-others')),
  };

  const over = Object.entries(costs).filter(([, statements]) => ofHandler(statements).length > 6);
  expect(over).toEqual([]);
});

test('a sign-in with its challenge, and the answer to it', async () => {
  const { users } = await client.tenant();
  const user = users.member;
  const { secret } = await enrol(client, user.token);
  let login = await client.logIn(user.email, testPassword);

  const first = await client.statementsOf(async () => {
    login = await client.logIn(user.email, testPassword);
  });
  const answer = await client.statementsOf(() => verify(client, { challenge_id: login.body.challenge_id, code: codeOf(secret) }));

  expect(ofHandler(first)).toHaveLength(1);
  expect(ofHandler(answer).filter((sql) => !/commit and chain/.test(sql)).length).toBeLessThanOrEqual(6);
});

test('a refused sign-in is one look and one record, without a transaction of the request', async () => {
  const { users } = await client.tenant();

  const statements = await client.statementsOf(() => client.logIn(users.member.email, 'wrong password'));

  // Settings that no statement follows are never sent.
  expect(statements.filter((sql) => !sql.startsWith('select set_config('))).toEqual([
    expect.stringContaining('gate_login'),
    expect.stringContaining('insert into "login_failures"'),
  ]);
});

test('a login is one commit: session, refresh token, last login and audit entry stand together', async () => {
  const { users } = await client.tenant();
  const user = users.member;
  const { body } = await client.logIn(user.email, testPassword);

  expect(await writersOf(body.session_id, user.id)).toHaveLength(1);
});

test('a refresh is one commit, so are a logout and a revocation with their audit entries', async () => {
  const { users } = await client.tenant();
  const user = users.member;
  const { body: kept } = await client.logIn(user.email, testPassword);
  const { body: ended } = await client.logIn(user.email, testPassword);
  const { body: left } = await client.logIn(user.email, testPassword);
  const writers = (sql: string, id: string) => client.rows<{ writer: string }>(sql, [id, id]);

  await client.call('POST', '/auth/refresh', { body: { refresh_token: kept.refresh_token } });
  await client.call('DELETE', `/sessions/${ended.session_id}`, { token: user.token });
  await client.call('POST', '/auth/logout', { token: left.access_token });

  expect(
    await writers(
      'select distinct xmin::text as writer from refresh_tokens where session_id = ? union select xmin::text from sessions where id = ?',
      kept.session_id,
    ),
  ).toHaveLength(1);
  for (const { session_id: id } of [ended, left]) {
    const rows = await writers(
      "select xmin::text as writer from sessions where id = ? union select xmin::text from audit_entries where resource_id = ? and action = 'logout'",
      id,
    );
    expect(rows).toHaveLength(1);
  }
});

test('rating a password holds nobody else up', async () => {
  const { users } = await client.tenant();
  // Read in every way digits can be letters: a second of computing in the thread of the requests.
  const slow = '4@8({[<3&9611|7!1|0$5+7%2@4'.repeat(4).slice(0, 100);
  const body = { current_password: 'wrong', new_password: slow };
  // What this thread computes between two of its turns: waiting for a busy machine is none of it.
  const computedMs = () => ('threadCpuUsage' in process ? process.threadCpuUsage().user / 1_000 : performance.now()); // Node 24
  let longestMs = 0;
  let last = computedMs();
  const ticks = setInterval(() => {
    const now = computedMs();
    longestMs = Math.max(longestMs, now - last);
    last = now;
  }, 5);

  await client.api.deps.passwordStrength.rate({ password: 'warm', known: [] });
  longestMs = 0;
  await client.call('POST', '/auth/password/change', { token: users.member.token, body });
  clearInterval(ticks);

  expect(longestMs).toBeLessThan(100);
});
