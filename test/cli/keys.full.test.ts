import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { randomKeyRing, type KeyRing } from '../../db/key-ring.ts';
import { newId } from '../../db/ids.ts';
import { sweep } from '../../db/transaction.ts';
import { secretBinding, type SecretScope } from '../../db/encrypted-columns.ts';
import { change, rows } from '../../db/sql.ts';
import { decrypt, encrypt } from '../../db/envelope.ts';
import { makeWorld, type World } from '../db/world.ts';
import { testDatabase, type TestDatabase } from '../support/database.ts';
import { until } from '../support/temporal.ts';
import { longhaul, longhaulProcess } from './command.ts';

const keys = randomKeyRing();
const newest = randomKeyRing().keks[0];
const both: KeyRing = { ...keys, keks: [newest, ...keys.keks] };
const secretsEach = 700;
let database: TestDatabase;
let worlds: World[];

beforeAll(async () => {
  database = await testDatabase();
  worlds = await Promise.all([1, 2, 3].map(() => makeWorld(database.db)));
  for (const world of worlds) await sweep(database.db, (em) => sealSecrets(em, world));
});
afterAll(() => database.drop());

const ask = <T>(sql: string) => sweep(database.db, (em) => rows<T>(em, sql));
const countUnderLiveKeys = async () =>
  (
    await ask<{ n: number }>(
      `select count(*) as n from secrets s join data_keys k on k.id = encode(substring(s.value_envelope from 2 for 16), 'hex')::uuid
       where k.retired_at is null`,
    )
  )[0]?.n ?? 0;

test('keys rotate --reencrypt, killed again and again, ends as if it had run once', async () => {
  const all = secretsEach * worlds.length;
  const before = await ask<{ id: string }>('select id from data_keys');

  for (const share of [0.2, 0.5, 0.8]) {
    const { child, ended } = longhaulProcess(['keys', 'rotate', '--reencrypt'], { database, keys: both });
    await until(async () => (await ask<{ n: number }>('select count(*) as n from data_keys where retired_at is not null'))[0]?.n === 3);
    await until(async () => (await countUnderLiveKeys()) >= all * share);
    child.kill('SIGKILL');
    expect((await ended).code).toBeNull();
    expect(await countUnderLiveKeys()).toBeLessThan(all);
  }
  const { code, output } = await longhaul(['keys', 'rotate', '--reencrypt'], { database, keys: both });

  expect({ code, output }).toMatchObject({ code: 0, output: expect.stringContaining('0 data keys renewed') });
  expect(await countUnderLiveKeys()).toBe(all);
  const after = await ask<{ id: string; kek_id: string }>('select id, kek_id from data_keys');
  expect(after).toHaveLength(before.length * 2);
  expect(after.every((key) => key.kek_id === newest.id)).toBe(true);
  expect(await openAll({ ...keys, keks: [newest] })).toBe(all);
  expect(await audited()).toEqual({ rewrapped: before.length, renewed: before.length, resealed: all });
});

test('a deployment key that is missing is said in a line, with exit 1', async () => {
  const { code, output } = await longhaul(['keys', 'rotate'], { database, keys: randomKeyRing() });

  expect(code).toBe(1);
  expect(output).toMatch(/^LONGHAUL_KEKS lacks the key \w+, under which a data key is wrapped\. Name it after the newest one/);
  expect(output).not.toContain('    at ');
});

/** What the platform's chain says was done, added up. */
async function audited(): Promise<Record<string, number>> {
  const entries = await ask<{ changes: Record<string, { to: number }> }>(
    "select changes from audit_entries where resource_type = 'data_key' and organization_id is null",
  );
  const sums: Record<string, number> = { rewrapped: 0, renewed: 0, resealed: 0 };
  for (const { changes } of entries) {
    for (const name of Object.keys(sums)) sums[name] = (sums[name] ?? 0) + (changes[name]?.to ?? 0);
  }
  return sums;
}

async function openAll(ring: KeyRing): Promise<number> {
  const found = await ask<SecretScope & { value_envelope: Buffer }>(
    `select organization_id as "organizationId", workspace_id as "workspaceId", tool_id as "toolId", name, value_version as "valueVersion", value_envelope
       from secrets`,
  );
  return sweep(database.db, async (em) => {
    let opened = 0;
    for (const secret of found) {
      const value = await decrypt(em, ring, secretBinding(secret), secret.value_envelope);
      if (value.toString() === `value of ${secret.name}`) opened += 1;
    }
    return opened;
  });
}

async function sealSecrets(em: Parameters<typeof encrypt>[0], { organizationId, workspaceIds }: World): Promise<void> {
  const workspaceId = workspaceIds[0] ?? null;
  const made: { id: string; name: string; envelope: string }[] = [];
  for (let at = 0; at < secretsEach; at++) {
    const name = `s${at}`;
    const place = { organizationId, workspaceId, toolId: null, name, valueVersion: 1 };
    const envelope = await encrypt(em, keys, secretBinding(place), Buffer.from(`value of ${name}`));
    made.push({ id: newId(), name, envelope: envelope.toString('hex') });
  }
  await change(
    em,
    `insert into secrets (id, scope, organization_id, workspace_id, name, value_envelope)
     select s.id, 'workspace', ?::uuid, ?::uuid, s.name, decode(s.envelope, 'hex') from jsonb_to_recordset(?::jsonb) as s (id uuid, name text, envelope text)`,
    [organizationId, workspaceId, JSON.stringify(made)],
  );
}
