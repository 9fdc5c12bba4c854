import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { randomKeyRing } from '../../db/key-ring.ts';
import { change, rows } from '../../db/sql.ts';
import { sweep } from '../../db/transaction.ts';
import { testDatabase, type TestDatabase } from '../support/database.ts';
import { makeTenant, makeUser, type TestTenant, type TestUser } from '../support/tenant.ts';
import { longhaul, longhaulProcess } from './command.ts';

const keys = randomKeyRing();
let database: TestDatabase;
let tenant: TestTenant;

beforeAll(async () => {
  database = await testDatabase();
  tenant = await makeTenant(database.db, keys);
});
afterAll(() => database.drop());

const ask = <T>(sql: string, params: unknown[] = []) => sweep(database.db, (em) => rows<T>(em, sql, params));
const write = (sql: string, params: unknown[]) => sweep(database.db, (em) => change(em, sql, params));
const run = (...args: string[]) => longhaul(args, { database, keys });

async function userWithFactor(): Promise<TestUser> {
  const { organizationId, workspaceId } = tenant;
  const user = await makeUser(database.db, keys, { role: 'member', scope: 'workspace', organizationId, workspaceId });
  await write("insert into totp_factors (user_id, organization_id, secret_enc, confirmed_at) values (?, ?, 'x', now())", [
    user.id,
    organizationId,
  ]);
  await write("insert into recovery_codes (user_id, organization_id, code_hash) values (?, ?, 'a'), (?, ?, 'b')", [
    user.id,
    organizationId,
    user.id,
    organizationId,
  ]);
  return user;
}

test('users reset-mfa takes factor, codes and sessions of one user, once, and says so in the audit log and by mail', async () => {
  const [user, other] = [await userWithFactor(), await userWithFactor()];

  const first = await longhaulProcess(['users', 'reset-mfa', '--email', ` ${user.email.toUpperCase()} `], { database, keys }).ended;
  const again = await run('users', 'reset-mfa', '--email', user.email);

  expect([first.code, again.code, again.output]).toEqual([0, 0, expect.stringContaining('no second factor')]);
  const of = (id: string) =>
    ask(
      `select (select count(*)::int from totp_factors where user_id = u.id) as factors,
        (select count(*)::int from recovery_codes where user_id = u.id) as codes,
        (select count(*)::int from sessions where user_id = u.id and revoked_at is null) as sessions
      from users u where id = ?`,
      [id],
    );
  expect([await of(user.id), await of(other.id)]).toEqual([
    [{ factors: 0, codes: 0, sessions: 0 }],
    [{ factors: 1, codes: 2, sessions: 1 }],
  ]);
  const audits = await ask(
    "select action, actor_kind, organization_id, resource_id, changes from audit_entries where resource_type = 'user' and resource_id = ?",
    [user.id],
  );
  const changes = { mfa_enabled: { from: true, to: false } };
  expect(audits).toEqual([
    { action: 'update', actor_kind: 'system', organization_id: tenant.organizationId, resource_id: user.id, changes },
  ]);
  expect(await ask("select payload -> 'mail' as mail from outbox where kind = 'mail'")).toEqual([
    { mail: { template: 'factor_removed', userId: user.id } },
  ]);
});

test('users reset-mfa without a known address, and another command of users, end with one line and change nothing', async () => {
  const results = [
    await run('users', 'reset-mfa'),
    await run('users', 'reset-mfa', '--email', 'nobody@example.test'),
    await run('users', 'delete', '--email', tenant.users.member.email),
    await run('users', 'reset-mfa', '--email'),
    await run('keys', 'rotate', '--nonsense'),
  ];

  expect(results.map(({ code }) => code)).toEqual([1, 1, 1, 1, 1]);
  expect(results.map(({ output }) => /\n\s+at /.test(output))).toEqual([false, false, false, false, false]);
});
