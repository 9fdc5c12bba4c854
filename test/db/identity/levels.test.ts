import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type pg from 'pg';
import { randomKeyRing } from '../../../db/key-ring.ts';
import { testDatabase, type TestDatabase } from '../../support/database.ts';
import { withAdmin } from '../../support/template.ts';
import { makeTenant, tokenFor, type TestUser } from '../../support/tenant.ts';

const migration = readFileSync(new URL('../../../db/migrations/0006-endings/01-levels.sql', import.meta.url), 'utf8');
const keys = randomKeyRing();
let database: TestDatabase;

beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database.drop());

/** As the owner of the tables runs it, whom row-level security shows no row. */
const migrate = () =>
  withAdmin(database.ownerUrl, async (owner: pg.Client) => {
    await owner.query('begin');
    await owner.query(migration);
    await owner.query('commit');
  });
const admin = (sql: string, params: unknown[]) =>
  withAdmin(database.adminUrl, async (client: pg.Client) => (await client.query(sql, params)).rows);
const levelOf = async (sessionId: string) => (await admin('select mfa_level from sessions where id = $1', [sessionId]))[0]?.mfa_level;

const confirmFactor = (user: TestUser) =>
  admin(
    `insert into totp_factors (user_id, organization_id, secret_enc, created_at, confirmed_at)
     select id, organization_id, '', now(), now() - interval '1 hour' from users where id = $1`,
    [user.id],
  );

async function session(user: TestUser, set: string): Promise<string> {
  const { sessionId } = await tokenFor(database.db, keys, user);
  await admin(`update sessions set ${set} where id = $1`, [sessionId]);
  return sessionId;
}

const grant = (minutesAgo: number) => `kind = 'oauth', client_id = 'app', created_at = now() - interval '${minutesAgo} minutes'`;

test('a level that a removed factor has left goes, one of a standing factor stays', async () => {
  const { users } = await makeTenant(database.db, keys);
  await confirmFactor(users.admin);
  const [left, standing] = [await session(users.member, "mfa_level = 'totp'"), await session(users.admin, "mfa_level = 'recovery_code'")];

  await migrate();

  expect([await levelOf(left), await levelOf(standing)]).toEqual(['none', 'recovery_code']);
});

test('an app counts as connected by the factor where every session that could have done it had shown it', async () => {
  const { users } = await makeTenant(database.db, keys);
  const [sure, unsure] = [users.admin, users.member];
  await Promise.all([sure, unsure].map(confirmFactor));
  await admin("update sessions set mfa_level = 'totp' where id = $1", [sure.sessionId]);
  const [after, before, beside] = [await session(sure, grant(30)), await session(sure, grant(90)), await session(unsure, grant(30))];
  await admin("update sessions set created_at = now() - interval '2 hours' where id = $1", [unsure.sessionId]);

  await migrate();

  expect([await levelOf(after), await levelOf(before), await levelOf(beside)]).toEqual(['totp', 'none', 'none']);
});
