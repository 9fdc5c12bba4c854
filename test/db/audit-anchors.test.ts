import { appendFile, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { pino } from 'pino';
import { createAnchor } from '../../activities/maintenance/anchor.ts';
import { checkAnchored } from '../../domain/audit/anchored.ts';
import { randomKeyRing } from '../../db/key-ring.ts';
import { newId } from '../../db/ids.ts';
import { openPurge } from '../../domain/operator/purge-steps.ts';
import { sweep } from '../../db/transaction.ts';
import { change } from '../../db/sql.ts';
import { createAnchorFile, type AnchorRecord } from '../../ports/storage/anchor-file.ts';
import { testDatabase, type TestDatabase } from '../support/database.ts';
import { silent } from '../support/worker.ts';
import { tick, writeEntries } from './audit-log.ts';
import { makeWorld } from './world.ts';

const keys = randomKeyRing();
let database: TestDatabase;
let folder: string;
let path: string;
let organizationId: string;

beforeAll(async () => {
  database = await testDatabase();
  folder = await mkdtemp(join(tmpdir(), 'longhaul-anchors-'));
});
afterAll(async () => {
  await database.drop();
  await rm(folder, { recursive: true });
});
beforeEach(async () => {
  organizationId = newId();
  path = join(folder, organizationId, 'anchors.jsonl');
  await sealed(3);
});

const forge = (sql: string, params: unknown[] = []) => sweep(database.db, (em) => change(em, sql, params));
const file = () => createAnchorFile(path, keys.auditKeys);
const anchor = (log = silent) => createAnchor({ db: database.db, file: file(), log });
const textOf = () => readFile(path, 'utf8');

async function sealed(seals: number): Promise<void> {
  for (let seal = 0; seal < seals; seal++) {
    await writeEntries(database.db, { organizationId, count: 2 });
    await tick(database.db, keys);
  }
}

/** What is wrong with the lines of the file, by their numbers, and the lines that count. */
async function readAll(): Promise<{ faults: string[]; lines: AnchorRecord[] }> {
  const [faults, lines]: [string[], AnchorRecord[]] = [[], []];
  for await (const { number, line, fault } of (await file().read()) ?? []) {
    if (fault !== null) faults.push(`${number}: ${fault}`);
    if (line) lines.push(line);
  }
  return { faults, lines };
}

/** What differs from the anchors in the chain of this test. */
async function differences(): Promise<string[]> {
  const { lines } = await readAll();
  async function* each() {
    for (const line of lines) if (line.chain === organizationId) yield line;
  }
  return (await checkAnchored(database.db, keys, each())).map(({ kind, sealNo, message }) => `${kind} ${sealNo}: ${message.split(';')[0]}`);
}

test('heads are appended where only their owner reads them, those that have changed and no others', async () => {
  const one = anchor();
  await one.append();
  await sealed(1);
  await one.append();
  await one.append();

  const { faults, lines } = await readAll();
  expect(faults).toEqual([]);
  expect(lines.filter(({ chain }) => chain === organizationId)).toEqual([
    expect.objectContaining({ seal_no: 3, entries: 6 }),
    expect.objectContaining({ seal_no: 4, entries: 8 }),
  ]);
  expect((await stat(path)).mode & 0o777).toBe(0o600);
  expect(await differences()).toEqual([]);
});

test('the log is told of every head, also where the file can not be written; sealing goes on', async () => {
  const told: { heads?: { chain: string }[]; level: number }[] = [];
  const log = pino({ level: 'info' }, { write: (line: string) => void told.push(JSON.parse(line)) });
  await writeFile(join(folder, 'in-the-way'), '');
  path = join(folder, 'in-the-way', 'anchors.jsonl');
  const one = anchor(log);

  await one.appendWhenDue();
  await one.appendWhenDue();

  expect(told.flatMap(({ heads = [] }) => heads)).toContainEqual(expect.objectContaining({ chain: organizationId, seal_no: 3 }));
  expect(told.filter(({ level }) => level === 40)).toHaveLength(1);
  expect(one.failures).toBe(1);
});

test('many that append at once write one chain of lines', async () => {
  await Promise.all(Array.from({ length: 6 }, () => anchor().append()));

  const { faults, lines } = await readAll();
  expect(faults).toEqual([]);
  expect(lines.filter(({ chain }) => chain === organizationId)).toHaveLength(6);
});

test.each([
  [
    'a chain that is gone whole',
    async () => {
      await forge('delete from audit_entries where organization_id = ?', [organizationId]);
      await forge('delete from audit_seals where chain = ?', [organizationId]);
    },
    /^missing 3: the whole chain is missing$/,
  ],
  [
    'an end that was cut off, or an older state of the database',
    async () => {
      await forge('delete from audit_entries where organization_id = ? and seal_no = 3', [organizationId]);
      await forge('delete from audit_seals where chain = ? and seal_no = 3', [organizationId]);
    },
    /^missing 3: it was the newest at .*, but seal 2 is now: the end of the chain was removed, or the database is an older one$/,
  ],
  [
    'an end that was cut off and sealed anew',
    async () => {
      await forge('update audit_entries set seal_no = null, seq = null where organization_id = ? and seal_no = 3', [organizationId]);
      await forge('delete from audit_seals where chain = ? and seal_no = 3', [organizationId]);
      await forge("update audit_entries set resource_label = 'forged' where organization_id = ? and seal_no is null", [organizationId]);
      await tick(database.db, keys);
      await sealed(2);
    },
    /^changed 3: it is not the seal that was anchored at .*$/,
  ],
])('%s is named, also after later anchors', async (_what, attack, expected) => {
  await anchor().append();

  await attack();
  const found = await differences();
  await anchor().append();
  await sealed(2);
  await anchor().append();

  expect(found).toEqual([expect.stringMatching(expected)]);
  expect(await differences()).not.toEqual([]);
});

test('a chain that went with its organization is not missed; one whose purge somebody has written down by hand is', async () => {
  const bury = async () => {
    await forge('delete from audit_entries where organization_id = ?', [organizationId]);
    await forge('delete from audit_seals where chain = ?', [organizationId]);
  };
  organizationId = (await makeWorld(database.db)).organizationId;
  await sealed(1);
  await anchor().append();
  await forge("insert into purges (id, organization_id, status) values (?, ?, 'queued')", [newId(), organizationId]);
  await sweep(database.db, (em) => openPurge(em, keys, organizationId));
  await bury();
  const purged = await differences();

  organizationId = newId();
  await sealed(1);
  await anchor().append();
  await forge(
    `insert into audit_entries (id, actor_kind, action, resource_type, resource_id, created_at) values (?, 'system', 'purge', 'organization', ?, now() - interval '1 minute')`,
    [newId(), organizationId],
  );
  await tick(database.db, keys);
  await bury();

  expect(purged).toEqual([]);
  expect(await differences()).toEqual([expect.stringMatching(/^missing 1: the whole chain is missing$/)]);
});

test('a line that was changed, forged or taken away is named; one that a crash has torn is not', async () => {
  const one = anchor();
  for (let n = 0; n < 3; n++) {
    await one.append();
    await sealed(1);
  }
  const whole = await textOf();
  const lines = whole.trimEnd().split('\n');
  const last = lines.length;
  const gone = 'lines before it were removed';
  const changed = 'it was changed, or was not written by this deployment';
  const written = async (text: string) => {
    await writeFile(path, text);
    return (await readAll()).faults;
  };

  expect(await written([...lines.slice(0, -2), lines.at(-1), ''].join('\n'))).toEqual([`${last - 1}: ${gone}`]);
  expect(await written([...lines.slice(1), ''].join('\n'))).toEqual([`1: ${gone}`]);
  expect(await written(whole.replace(/"entries":\d+/, '"entries":7777'))).toEqual([`1: ${changed}`, `2: ${gone}`]);
  expect(await written(`${whole}${lines.at(-1)?.replace(organizationId, newId())}\n`)).toEqual([`${last + 1}: ${changed}`]);
  await written(whole);
  await appendFile(path, lines.at(-1)?.slice(0, 50) ?? '');
  await one.append();
  expect((await readAll()).faults).toEqual([]);
});

test('a file of other keys proves nothing and says so', async () => {
  await createAnchor({ db: database.db, file: createAnchorFile(path, randomKeyRing().auditKeys), log: silent }).append();

  const { faults, lines } = await readAll();

  expect(faults[0]).toMatch(/^1: LONGHAUL_AUDIT_KEYS lacks the key/);
  expect(lines).toEqual([]);
});
