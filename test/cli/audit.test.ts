import { rm, truncate } from 'node:fs/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { randomKeyRing } from '../../db/key-ring.ts';
import { newId } from '../../db/ids.ts';
import { sweep } from '../../db/transaction.ts';
import { change } from '../../db/sql.ts';
import { entriesOf, tick, writeEntries } from '../db/audit-log.ts';
import { makeWorld } from '../db/world.ts';
import { anchorFileOf, testDatabase, type TestDatabase } from '../support/database.ts';
import { longhaul, longhaulProcess } from './command.ts';

const keys = randomKeyRing();
let database: TestDatabase;

beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database.drop());

const verify = (...args: string[]) => longhaul(['audit', 'verify', ...args], { database, keys });
const inDatabase = (sql: string, params: unknown[] = []) => sweep(database.db, (em) => change(em, sql, params));

async function sealed(): Promise<string> {
  const organizationId = newId();
  await writeEntries(database.db, { organizationId, count: 3 });
  await tick(database.db, keys);
  return organizationId;
}

test('audit verify is content with an untouched log, whole or one organization of it', async () => {
  const organizationId = await sealed();

  const whole = await verify();
  const one = await verify('--organization', organizationId);

  expect(whole).toMatchObject({ code: 0, output: expect.stringContaining(`${organizationId}: 1 seals, 3 entries, head `) });
  expect(one).toMatchObject({ code: 0, output: expect.stringContaining('Intact chains: 1.') });
});

test('a row that was changed, deleted or added is named with its seal, and the exit is 1', async () => {
  const [changed, deleted, added, whole] = [await sealed(), await sealed(), await sealed(), await sealed()];
  const [first] = await entriesOf(database.db, changed);
  await inDatabase("update audit_entries set action = 'delete' where id = ?", [first?.id]);
  await inDatabase('delete from audit_entries where organization_id = ? and seq = 2', [deleted]);
  await inDatabase(
    "insert into audit_entries (id, organization_id, actor_kind, action, resource_type, seq, seal_no) values (?, ?, 'system', 'update', 'agent', 9, 1)",
    [newId(), added],
  );

  const all = await longhaulProcess(['audit', 'verify'], { database, keys }).ended;
  const unharmed = await verify('--organization', whole);

  expect(all.code).toBe(1);
  expect(all.output).toContain(`changed: seal 1, number 1, entry ${first?.id}: `);
  expect(all.output).toContain('missing: seal 1, number 2: ');
  expect(all.output).toMatch(/added: seal 1, number 9, entry [0-9a-f-]{36}: /);
  expect(all.output).toContain('Faults found: 3.');
  expect(unharmed.code).toBe(0);
});

test('the heads are anchored at each verify; a chain that is gone, and an anchor file that is gone or emptied, are named', async () => {
  const organizationId = await sealed();
  const file = anchorFileOf(database);
  await rm(file, { force: true });
  await inDatabase("delete from system_marks where name = 'audit_anchor'");

  const first = await verify('--organization', organizationId);
  const second = await verify('--organization', organizationId);
  await inDatabase('delete from audit_entries where organization_id = ?', [organizationId]);
  await inDatabase('delete from audit_seals where chain = ?', [organizationId]);
  const gone = await verify('--organization', organizationId);
  await rm(file);
  const without = await verify('--organization', organizationId);
  await truncate(file);
  const emptied = await verify('--organization', organizationId);

  expect(first).toMatchObject({ code: 0, output: expect.stringContaining(`anchor ${file}: does not exist yet and will be created now`) });
  expect(second).toMatchObject({ code: 0, output: expect.stringMatching(/anchor .*: \d+ lines, the newest of \d{4}-.*Z\n/) });
  expect(gone).toMatchObject({
    code: 1,
    output: expect.stringContaining(`${organizationId}: missing: seal 1: the whole chain is missing; this seal was`),
  });
  expect(without).toMatchObject({
    code: 1,
    output: expect.stringContaining(`anchor ${file}: missing, although heads were anchored last at `),
  });
  expect(emptied).toMatchObject({
    code: 1,
    output: expect.stringContaining(`anchor ${file}: empty, although heads were anchored last at `),
  });
});

test('before the first seal there is nothing to anchor, and an empty anchor file is no fault', async () => {
  const fresh = await testDatabase();
  const verifyFresh = () => longhaul(['audit', 'verify'], { database: fresh, keys });

  const both = [await verifyFresh(), await verifyFresh()];
  await fresh.drop();

  for (const one of both) expect(one).toMatchObject({ code: 0, output: expect.stringContaining('Intact chains: 0.') });
});

test('an anchor file that can not be written is told of and fails nothing', async () => {
  const organizationId = await sealed();
  await inDatabase("delete from system_marks where name = 'audit_anchor'");
  const env = { AUDIT_ANCHOR_FILE: '/proc/nowhere/anchors.jsonl' };

  const verified = await longhaul(['audit', 'verify', '--organization', organizationId], { database, keys, env });

  expect(verified).toMatchObject({
    code: 0,
    output: expect.stringContaining('The anchor /proc/nowhere/anchors.jsonl cannot be written: '),
  });
});

test('what is no organization is refused in a line, and so is a command that does not exist', async () => {
  const bad = await verify('--organization', 'acme');
  const unknown = await longhaul(['audit', 'mend'], { database, keys });

  expect(bad).toEqual({ code: 1, output: '--organization must be the id of an organization, or platform.\n' });
  expect(unknown).toMatchObject({ code: 1, output: expect.stringContaining('longhaul audit only accepts verify.') });
});

test('retention run takes what is past its days and says so', async () => {
  const { organizationId } = await makeWorld(database.db);
  await inDatabase('insert into organization_settings (organization_id, audit_retention_days) values (?, 30)', [organizationId]);
  await writeEntries(database.db, { organizationId, count: 2, ageS: 40 * 86_400 });
  await tick(database.db, keys);
  await inDatabase("update audit_seals set created_at = now() - interval '40 days' where chain = ?", [organizationId]);

  const { code, output } = await longhaulProcess(['retention', 'run'], { database, keys }).ended;

  expect({ code, output }).toEqual({
    code: 0,
    output: '2 audit entries of 1 seals in 1 organizations and 0 failed logins deleted.\n0 runs erased, 0 notices of alerts deleted.\n',
  });
  expect(await verify('--organization', organizationId)).toMatchObject({ code: 0 });
});
