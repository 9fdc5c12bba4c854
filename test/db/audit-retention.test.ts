import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { retentionMark, runRetention } from '../../domain/retention.ts';
import { maxFailures } from '../../domain/identity/factors/login-failure-retention.ts';
import { markAt } from '../../db/http/system-status.ts';
import { randomKeyRing } from '../../db/key-ring.ts';
import { sweep } from '../../db/transaction.ts';
import { change, row, rows } from '../../db/sql.ts';
import { testDatabase, type TestDatabase } from '../support/database.ts';
import { withAdmin } from '../support/template.ts';
import { silent } from '../support/worker.ts';
import { entriesOf, faultsOf, passDays, tick, writeEntries } from './audit-log.ts';
import { makeWorld } from './world.ts';

const keys = randomKeyRing();
let database: TestDatabase;
let organizationId: string;

beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database.drop());
beforeEach(async () => {
  organizationId = (await makeWorld(database.db)).organizationId;
  await inDatabase(
    'insert into organization_settings (organization_id, audit_retention_days, failed_login_retention_days) values (?, 30, 7)',
    [organizationId],
  );
});

const inDatabase = (sql: string, params: unknown[] = []) => sweep(database.db, (em) => change(em, sql, params));
const asAdmin = (sql: string) => withAdmin(database.adminUrl, (admin) => admin.query(sql));
const run = (signal = new AbortController().signal) => runRetention(database.db, keys, { log: silent, signal });
const purges = () =>
  sweep(database.db, (em) =>
    rows<{ resource_type: string; changes: unknown }>(
      em,
      "select resource_type, changes from audit_entries where organization_id = ? and action = 'purge' order by id",
      [organizationId],
    ),
  );

/** A seal of so many entries, made so many days ago. */
async function sealAgo(days: number, count: number): Promise<void> {
  await writeEntries(database.db, { organizationId, count, ageS: days * 86_400 });
  await tick(database.db, keys);
  await inDatabase(
    `update audit_seals set created_at = now() - make_interval(days => ?::int)
     where chain = ? and seal_no = (select max(seal_no) from audit_seals where chain = ?)`,
    [days, organizationId, organizationId],
  );
}

test('entries go by whole seals past the days of their organization; the seal row stays and one purge entry counts', async () => {
  await sealAgo(40, 2);
  await sealAgo(31, 3);
  await sealAgo(29, 1);

  await run();
  const again = await run();

  expect((await entriesOf(database.db, organizationId)).map(({ seq }) => seq)).toEqual([6, 7]);
  expect(again).toMatchObject({ auditEntries: 0 });
  expect(await purges()).toEqual([
    {
      resource_type: 'audit_log',
      changes: {
        entries: { from: null, to: 5 },
        seals: { from: null, to: 2 },
        through_seal: { from: null, to: 2 },
        days: { from: null, to: 30 },
      },
    },
  ]);
  expect(await faultsOf(database.db, keys, organizationId)).toEqual([]);
  expect(await sweep(database.db, (em) => markAt(em, retentionMark))).not.toBeNull();
});

test('the chain goes on over what was purged, and later purges account for earlier ones', async () => {
  await sealAgo(60, 2);
  await run();
  await passDays(database.db, keys, { chain: organizationId, days: 50 });
  await run();
  await writeEntries(database.db, { organizationId, count: 1 });
  await tick(database.db, keys);

  expect((await entriesOf(database.db, organizationId)).map(({ seq }) => seq)).toEqual([4, 5]);
  expect(await faultsOf(database.db, keys, organizationId)).toEqual([]);
});

test('what is unsealed, young, or of the platform is never taken', async () => {
  await writeEntries(database.db, { organizationId, count: 2, ageS: 90 * 86_400 });
  await writeEntries(database.db, { organizationId: null, count: 1, ageS: 900 * 86_400 });

  await run();
  await inDatabase("update audit_seals set created_at = now() - interval '900 days' where chain = 'platform'");
  await run();

  expect(await entriesOf(database.db, organizationId)).toHaveLength(2);
  expect(await sweep(database.db, (em) => row(em, 'select from audit_entries where organization_id is null'))).not.toBeNull();
});

test('where nobody says how long, nothing is taken, also when that is forgotten in the middle of a run', async () => {
  await sealAgo(40, 2);
  await sealAgo(5, 1);
  // As a purge of the organization does beside it, between the search for what is due and the taking.
  await asAdmin(`create or replace function forget_settings() returns trigger language plpgsql as
    $$ begin delete from organization_settings where organization_id = new.organization_id; return null; end $$`);
  await asAdmin('create trigger forget_settings after update of purged_at on audit_seals for each row execute function forget_settings()');
  await run().finally(() => asAdmin('drop trigger forget_settings on audit_seals'));

  expect((await entriesOf(database.db, organizationId)).map(({ seq }) => seq)).toEqual([3, 4]);
});

test('an organization whose entries cannot be taken keeps no other from it, and is named at the end', async () => {
  await sealAgo(40, 1);
  const stuck = organizationId;
  organizationId = (await makeWorld(database.db)).organizationId;
  await inDatabase('insert into organization_settings (organization_id, audit_retention_days) values (?, 30)', [organizationId]);
  await sealAgo(40, 1);
  const [first = '', second = ''] = [stuck, organizationId].toSorted();
  await asAdmin(`create or replace function refuse_delete() returns trigger language plpgsql as
    $$ begin if old.organization_id = '${first}' then raise exception 'stuck'; end if; return old; end $$`);
  await asAdmin('create trigger refuse_delete before delete on audit_entries for each row execute function refuse_delete()');

  await expect(run().finally(() => asAdmin('drop trigger refuse_delete on audit_entries'))).rejects.toThrow('stuck');

  expect((await entriesOf(database.db, first)).map(({ seq }) => seq)).toEqual([1]);
  expect((await entriesOf(database.db, second)).map(({ seq }) => seq)).toEqual([2]);
});

test('two runs at once, and one that is stopped, take each entry once', async () => {
  for (let day = 50; day > 40; day--) await sealAgo(day, 2);
  const stopped = new AbortController();
  stopped.abort();

  await expect(run(stopped.signal)).rejects.toThrow();
  await Promise.all([run(), run()]);
  await run();

  const counted = (await purges()).map(({ changes }) => (changes as { entries: { to: number } }).entries.to);
  expect(counted.reduce((sum, count) => sum + count, 0)).toBe(20);
  expect(await faultsOf(database.db, keys, organizationId)).toEqual([]);
});

test('100,000 failed logins remove no audit entry; those past their days and those too many go themselves', async () => {
  await writeEntries(database.db, { organizationId, count: 10 });
  await tick(database.db, keys);
  const before = await entriesOf(database.db, organizationId);
  await inDatabase(
    `insert into login_failures (id, at, account_hash, organization_id, ip_truncated, reason)
     select gen_random_uuid(), now() - n * interval '1 second', '\\x00', ?::uuid, '10.0.0.0/24', 'password' from generate_series(1, ?::int) n`,
    [organizationId, maxFailures + 500],
  );
  await inDatabase(
    `insert into login_failures (id, at, account_hash, organization_id, ip_truncated, reason)
     select gen_random_uuid(), now() - interval '8 days', '\\x00', ?::uuid, '10.0.0.0/24', 'password' from generate_series(1, 100)`,
    [organizationId],
  );
  await inDatabase(
    `insert into login_failures (id, at, account_hash, organization_id, ip_truncated, reason)
     select gen_random_uuid(), now() - d * interval '1 day', '\\x00', null, '10.0.0.0/24', 'password' from generate_series(89, 92) d`,
  );

  await run();

  const kept = await entriesOf(database.db, organizationId);
  expect(kept.slice(0, 10)).toEqual(before);
  expect((await purges()).every(({ resource_type: type }) => type === 'login_failure')).toBe(true);
  const left = await sweep(database.db, (em) =>
    rows<{ organization_id: string | null; n: number }>(em, 'select organization_id, count(*) as n from login_failures group by 1'),
  );
  expect(left).toEqual(
    expect.arrayContaining([
      { organization_id: organizationId, n: maxFailures },
      { organization_id: null, n: 1 },
    ]),
  );
  expect(await faultsOf(database.db, keys, organizationId)).toEqual([]);
});
