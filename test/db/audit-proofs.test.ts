import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { runRetention } from '../../domain/retention.ts';
import { verifyChain } from '../../domain/audit/verify.ts';
import { randomKeyRing } from '../../db/key-ring.ts';
import { newId } from '../../db/ids.ts';
import { sweep } from '../../db/transaction.ts';
import { change, row } from '../../db/sql.ts';
import { testDatabase, type TestDatabase } from '../support/database.ts';
import { silent } from '../support/worker.ts';
import { entriesOf, faultsOf, passDays, tick, writeEntries } from './audit-log.ts';
import { makeWorld } from './world.ts';

// Somebody who may write whatever they like to the database, but has no key, against `audit verify` and against retention, which has the keys.

const keys = randomKeyRing();
let database: TestDatabase;
let organizationId: string;

beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database.drop());
beforeEach(async () => {
  organizationId = (await makeWorld(database.db)).organizationId;
  await forge('insert into organization_settings (organization_id, audit_retention_days) values (?, 30)', [organizationId]);
});

const forge = (sql: string, params: unknown[] = []) => sweep(database.db, (em) => change(em, sql, params));
const retain = () => runRetention(database.db, keys, { log: silent, signal: new AbortController().signal });
const messagesOf = async (chain: string) => (await verifyChain(database.db, keys, chain)).faults.map(({ message }) => message);
const sealsOf = async (chain: string) =>
  (await sweep(database.db, (em) => row<{ n: number }>(em, 'select count(*)::int as n from audit_seals where chain = ?', [chain])))?.n ?? 0;

async function sealed(seals: number): Promise<void> {
  for (let seal = 0; seal < seals; seal++) {
    await writeEntries(database.db, { organizationId, count: 2 });
    await tick(database.db, keys);
  }
}

const idOf = (chain: string) => (chain === 'platform' ? null : chain);

/** A purge entry as retention writes one, made so many days ago; not sealed. */
function forgePurgeEntry(chain: string, throughSeal: number, daysAgo = 0): Promise<number> {
  return forge(
    `insert into audit_entries (id, organization_id, actor_kind, action, resource_type, changes, created_at)
     values (?, ?::uuid, 'system', 'purge', 'audit_log', jsonb_build_object('through_seal', jsonb_build_object('to', ?::int), 'days', jsonb_build_object('to', 30)),
       now() - make_interval(days => ?::int) - interval '1 minute')`,
    [newId(), idOf(chain), throughSeal, daysAgo],
  );
}

/** Takes the entries of the first seals away as retention does. */
async function blank(chain: string, throughSeal: number): Promise<void> {
  await forge("delete from audit_entries where coalesce(organization_id::text, 'platform') = ? and seal_no <= ?", [chain, throughSeal]);
  await forge("update audit_seals set purged_at = now(), entry_macs = '' where chain = ? and seal_no <= ?", [chain, throughSeal]);
}

const untold = 'its entries are gone as if purged, but no sealed purge entry says so';

test('an unsealed purge entry proves nothing', async () => {
  await sealed(2);
  await forgePurgeEntry(organizationId, 2);
  await blank(organizationId, 2);

  expect(await messagesOf(organizationId)).toEqual([untold, untold]);
});

test('one that the deployment itself has sealed, like any other entry, proves nothing', async () => {
  await sealed(2);
  await forgePurgeEntry(organizationId, 2);
  await tick(database.db, keys);
  await blank(organizationId, 2);

  expect(await messagesOf(organizationId)).toEqual([untold, untold]);
});

test('nor one that was dated back, together with the seals', async () => {
  await sealed(2);
  await forgePurgeEntry(organizationId, 2, 1);
  await tick(database.db, keys);
  await blank(organizationId, 2);
  await forge(
    "update audit_seals set created_at = created_at - interval '400 days', purged_at = now() - interval '1 day' where chain = ? and seal_no <= 2",
    [organizationId],
  );

  expect(await messagesOf(organizationId)).toEqual([untold, untold]);
});

test('nothing purges the chain of the platform', async () => {
  await writeEntries(database.db, { organizationId: null, count: 2 });
  await tick(database.db, keys);
  const count = await sealsOf('platform');
  await passDays(database.db, keys, { chain: 'platform', days: 0, form: 'former' });
  await forgePurgeEntry('platform', count);
  await blank('platform', count);

  expect(await messagesOf('platform')).toEqual(
    Array.from({ length: count }, () => "its entries are gone as if purged, but the platform's are never purged"),
  );
  await forge("delete from audit_seals where chain = 'platform'");
});

test('a deployment without a fault has none right after its retention, before any further seal', async () => {
  await sealed(2);
  await passDays(database.db, keys, { chain: organizationId, days: 40 });
  await sealed(1);

  const retained = await retain();

  expect(retained).toMatchObject({ auditSeals: 2, auditEntries: 4 });
  expect(await faultsOf(database.db, keys, organizationId)).toEqual([]);
});

test('purges from before their seals had a form of their own are still believed, but none of young entries', async () => {
  await sealed(2);
  await forge("update audit_seals set created_at = now() - interval '40 days' where chain = ? and seal_no = 1", [organizationId]);
  await forgePurgeEntry(organizationId, 1);
  await tick(database.db, keys);
  await passDays(database.db, keys, { chain: organizationId, days: 0, form: 'former' });
  await blank(organizationId, 1);
  const believed = await messagesOf(organizationId);

  await forge("update audit_seals set created_at = now() - interval '29 days' where chain = ? and seal_no = 1", [organizationId]);

  expect(believed).toEqual([]);
  expect(await messagesOf(organizationId)).toEqual(['its entries were purged before they were 30 days old']);
});

test.each([
  ['a seal that was dated back', "update audit_seals set created_at = now() - interval '400 days' where chain = ?", 'younger than 30 days'],
  [
    'entries and a seal that were dated back',
    `with dated as (update audit_entries set created_at = now() - interval '400 days' where organization_id = ?::uuid returning organization_id)
     update audit_seals set created_at = now() - interval '400 days' where chain in (select organization_id::text from dated)`,
    'not the one that was sealed',
  ],
  [
    'a seal under a key that nobody has',
    "update audit_seals set key_id = 'none', created_at = now() - interval '400 days' where chain = ?",
    'lacks the key none',
  ],
])('retention takes nothing for %s', async (_what, statement, message) => {
  await sealed(1);
  const before = await entriesOf(database.db, organizationId);
  await forge(statement, [organizationId]);

  await expect(retain()).rejects.toThrow(message);

  expect(await entriesOf(database.db, organizationId)).toEqual(before);
  await forge('delete from audit_seals where chain = ?', [organizationId]);
});

test('retention vouches for nothing that others took before it', async () => {
  await sealed(2);
  await passDays(database.db, keys, { chain: organizationId, days: 40 });
  await blank(organizationId, 1);

  await expect(retain()).rejects.toThrow('what is gone before seal 2 was not purged by us');

  expect(await messagesOf(organizationId)).toEqual([untold]);
  await forge('delete from audit_seals where chain = ?', [organizationId]);
});

test('a setting below what the contract admits takes nothing that is younger than that', async () => {
  await sealed(1);
  await passDays(database.db, keys, { chain: organizationId, days: 20 });
  await forge('update organization_settings set audit_retention_days = 1 where organization_id = ?', [organizationId]);

  expect(await retain()).toMatchObject({ auditSeals: 0 });
  expect(await faultsOf(database.db, keys, organizationId)).toEqual([]);
});

test('entries moved to another chain are missed in their own, and strange in the other', async () => {
  const other = (await makeWorld(database.db)).organizationId;
  await sealed(1);
  await forge('update audit_entries set organization_id = ?::uuid where organization_id = ?::uuid and seq = 2', [other, organizationId]);

  expect([await faultsOf(database.db, keys, organizationId), await faultsOf(database.db, keys, other)]).toEqual([
    ['missing 1:2'],
    ['added 1:2'],
  ]);
});

test('a whole chain under the name of another organization does not hold', async () => {
  const other = newId();
  await sealed(1);
  await forge('update audit_entries set organization_id = ?::uuid where organization_id = ?::uuid', [other, organizationId]);
  await forge('update audit_seals set chain = ?, organization_id = ?::uuid where chain = ?', [other, other, organizationId]);

  expect(await faultsOf(database.db, keys, other)).toEqual(['changed 1:1', 'changed 1:2']);
});

test('a seal with more numbers than any log has is named, not counted through', async () => {
  await sealed(1);
  await forge('update audit_seals set last_seq = 9000000000000000 where chain = ?', [organizationId]);

  expect(await faultsOf(database.db, keys, organizationId)).toContain('broken 1:-');
});
