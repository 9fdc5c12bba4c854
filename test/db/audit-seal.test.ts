import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import pg from 'pg';
import { maxInSeal } from '../../db/audit/seal.ts';
import { sealMark } from '../../domain/audit/seal-all.ts';
import { auditChains } from '../../db/audit/chain.ts';
import { verifyChain } from '../../domain/audit/verify.ts';
import { markAt } from '../../db/http/system-status.ts';
import { randomKeyRing } from '../../db/key-ring.ts';
import { newId } from '../../db/ids.ts';
import { sweep } from '../../db/transaction.ts';
import { change, rows } from '../../db/sql.ts';
import { testDatabase, type TestDatabase } from '../support/database.ts';
import { entriesOf, faultsOf, tick, writeEntries } from './audit-log.ts';

const keys = randomKeyRing();
let database: TestDatabase;
let organizationId: string;

beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database.drop());
beforeEach(() => {
  organizationId = newId();
});

const inDatabase = (sql: string, params: unknown[] = []) => sweep(database.db, (em) => change(em, sql, params));
const sealRows = (chain: string) =>
  sweep(database.db, (em) =>
    rows<{ seal_no: number; first_seq: number; last_seq: number }>(
      em,
      'select seal_no, first_seq, last_seq from audit_seals where chain = ? order by seal_no',
      [chain],
    ),
  );

test('each tick seals what is older than ten seconds, in order and numbered without gaps', async () => {
  const first = await writeEntries(database.db, { organizationId, count: 3, ageS: 60 });
  const young = await writeEntries(database.db, { organizationId, count: 1, ageS: 5 });
  await tick(database.db, keys);
  const older = await writeEntries(database.db, { organizationId, count: 2, ageS: 30 });
  await tick(database.db, keys);
  await tick(database.db, keys);

  const numbered = [...first, ...older].map((id, at) => ({ id, seq: at + 1, seal_no: at < 3 ? 1 : 2 }));
  expect(await entriesOf(database.db, organizationId)).toEqual([...numbered, { id: young[0], seq: null, seal_no: null }]);
  expect(await sealRows(organizationId)).toEqual([
    { seal_no: 1, first_seq: 1, last_seq: 3 },
    { seal_no: 2, first_seq: 4, last_seq: 5 },
  ]);
  expect(await faultsOf(database.db, keys, organizationId)).toEqual([]);
  expect(await sweep(database.db, (em) => markAt(em, sealMark))).not.toBeNull();
});

test('every organization and the platform have a chain of their own', async () => {
  const other = newId();
  await writeEntries(database.db, { organizationId, count: 2 });
  await writeEntries(database.db, { organizationId: other, count: 1 });
  await writeEntries(database.db, { organizationId: null, count: 1 });

  await tick(database.db, keys);

  expect(await sweep(database.db, auditChains)).toEqual(expect.arrayContaining([organizationId, other, 'platform']));
  for (const chain of [organizationId, other, 'platform']) {
    const [seal] = await sealRows(chain);
    expect(seal?.first_seq).toBe(1);
    expect(await faultsOf(database.db, keys, chain)).toEqual([]);
  }
});

test('an entry that is committed late lands in the next seal', async () => {
  const late = newId();
  const client = new pg.Client({ connectionString: database.sweeperUrl });
  await client.connect();
  await client.query('begin');
  await client.query(
    `insert into audit_entries (id, organization_id, actor_kind, action, resource_type, created_at)
     values ($1, $2, 'system', 'update', 'agent', now() - interval '90 seconds')`,
    [late, organizationId],
  );
  const early = await writeEntries(database.db, { organizationId, count: 2, ageS: 60 });
  await tick(database.db, keys);
  await client.query('commit');
  await client.end();
  await tick(database.db, keys);

  expect(await entriesOf(database.db, organizationId)).toEqual([
    { id: early[0], seq: 1, seal_no: 1 },
    { id: early[1], seq: 2, seal_no: 1 },
    { id: late, seq: 3, seal_no: 2 },
  ]);
  expect(await faultsOf(database.db, keys, organizationId)).toEqual([]);
});

test('processes that seal at once make one chain', async () => {
  const organizations = Array.from({ length: 4 }, () => newId());
  for (const id of organizations) await writeEntries(database.db, { organizationId: id, count: 40 });

  await Promise.all(Array.from({ length: 3 }, () => tick(database.db, keys)));
  for (const id of organizations) await writeEntries(database.db, { organizationId: id, count: 40 });
  await Promise.all(Array.from({ length: 3 }, () => tick(database.db, keys)));

  for (const id of organizations) {
    expect((await entriesOf(database.db, id)).map(({ seq }) => seq)).toEqual(Array.from({ length: 80 }, (_, at) => at + 1));
    expect(await faultsOf(database.db, keys, id)).toEqual([]);
  }
});

test('a long backlog becomes seals of at most 5,000 entries', async () => {
  await writeEntries(database.db, { organizationId, count: maxInSeal + 1 });

  await tick(database.db, keys);

  expect(await sealRows(organizationId)).toEqual([
    { seal_no: 1, first_seq: 1, last_seq: maxInSeal },
    { seal_no: 2, first_seq: maxInSeal + 1, last_seq: maxInSeal + 1 },
  ]);
  expect(await faultsOf(database.db, keys, organizationId)).toEqual([]);
});

test('a new key makes new seals, old ones hold under their own; a lost key is named', async () => {
  const newest = randomKeyRing().auditKeys[0];
  const both = { auditKeys: [newest, ...keys.auditKeys] as const };
  await writeEntries(database.db, { organizationId, count: 1 });
  await tick(database.db, keys);
  await writeEntries(database.db, { organizationId, count: 1 });
  await tick(database.db, both);

  expect(await faultsOf(database.db, both, organizationId)).toEqual([]);
  expect(await faultsOf(database.db, { auditKeys: [newest] }, organizationId)).toEqual(['broken 1:-']);
});

test('only the sweeper numbers entries: the application may add none with a number, nor change or delete one', async () => {
  await writeEntries(database.db, { organizationId, count: 1 });
  const client = new pg.Client({ connectionString: database.appUrl });
  await client.connect();
  await client.query(
    "select set_config('app.operator', 'on', false), set_config('app.org', 'none', false), set_config('app.ws', '{}', false), set_config('app.ws_all', 'on', false), set_config('app.user', 'none', false)",
  );

  const numbered =
    "insert into audit_entries (id, actor_kind, action, resource_type, seq) values (gen_random_uuid(), 'system', 'update', 'x', 1)";
  for (const statement of ['update audit_entries set seq = 1', 'delete from audit_entries', 'delete from audit_seals', numbered])
    await expect(client.query(statement)).rejects.toThrow('permission denied');
  await client.end();
});

test.each([
  ['a value changed', "update audit_entries set resource_label = 'x' where organization_id = ? and seq = 2", ['changed 1:2']],
  ['a change rewritten', "update audit_entries set changes = '{}' where organization_id = ? and seq = 3", ['changed 1:3']],
  [
    'a time moved',
    "update audit_entries set created_at = created_at - interval '1 ms' where organization_id = ? and seq = 4",
    ['changed 2:4'],
  ],
  ['one deleted', 'delete from audit_entries where organization_id = ? and seq = 5', ['missing 2:5']],
  [
    'a whole seal deleted',
    'delete from audit_entries where organization_id = ? and seal_no = 1',
    ['missing 1:1', 'missing 1:2', 'missing 1:3'],
  ],
  ['one let go of its seal', 'update audit_entries set seal_no = null, seq = null where organization_id = ? and seq = 6', ['missing 2:6']],
  ['one moved to another seal', 'update audit_entries set seal_no = 1 where organization_id = ? and seq = 6', ['changed 2:6']],
  [
    'two exchanged',
    'update audit_entries set resource_id = (select r.resource_id from audit_entries r where r.organization_id = audit_entries.organization_id and r.seq = 3 - audit_entries.seq) where organization_id = ? and seq in (1, 2)',
    ['changed 1:1', 'changed 1:2'],
  ],
  [
    'one added to a seal',
    "insert into audit_entries (id, organization_id, actor_kind, action, resource_type, seq, seal_no) values (gen_random_uuid(), ?, 'system', 'update', 'agent', 7, 2)",
    ['added 2:7'],
  ],
  ['the last seal cut off', 'delete from audit_seals where chain = ? and seal_no = 2', ['added 2:4', 'added 2:5', 'added 2:6']],
  [
    'the first seal cut off',
    'delete from audit_seals where chain = ? and seal_no = 1',
    ['broken 2:-', 'added 1:1', 'added 1:2', 'added 1:3'],
  ],
  ["a seal's MAC changed", 'update audit_seals set mac = sha256(mac) where chain = ? and seal_no = 1', ['broken 2:-', 'broken 1:-']],
  [
    "a seal's list changed",
    'update audit_seals set entry_macs = sha256(mac) || sha256(mac) where chain = ? and seal_no = 1',
    ['broken 1:-'],
  ],
  [
    'a seal as if purged',
    'update audit_seals set purged_at = now() where chain = ? and seal_no = 1',
    ['broken 1:-', 'added 1:1', 'added 1:2', 'added 1:3'],
  ],
])('%s by SQL is found, and its seal named', async (_what, statement, faults) => {
  for (let seal = 0; seal < 2; seal++) {
    await writeEntries(database.db, { organizationId, count: 3 });
    await tick(database.db, keys);
  }
  expect(await faultsOf(database.db, keys, organizationId)).toEqual([]);

  expect(await inDatabase(statement, [organizationId])).toBeGreaterThan(0);

  expect(await faultsOf(database.db, keys, organizationId)).toEqual(faults);
});

test('the head of a chain changes with every seal, so that a copy of it proves the end', async () => {
  await writeEntries(database.db, { organizationId, count: 1 });
  await tick(database.db, keys);
  const before = await verifyChain(database.db, keys, organizationId);
  await writeEntries(database.db, { organizationId, count: 1 });
  await tick(database.db, keys);
  const after = await verifyChain(database.db, keys, organizationId);

  expect(before).toMatchObject({ seals: 1, entries: 1, head: expect.stringMatching(/^[0-9a-f]{64}$/) });
  expect(after).toMatchObject({ seals: 2, entries: 2 });
  expect(after.head).not.toBe(before.head);
});
