import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { randomKeyRing } from '../../db/key-ring.ts';
import { newId } from '../../db/ids.ts';
import { organizationTenant, sweep, systemActor, transact } from '../../db/transaction.ts';
import { rows } from '../../db/sql.ts';
import { type Binding, keyIdOf, type Keks, decrypt, rewrapDataKeys, encrypt } from '../../db/envelope.ts';
import { testDatabase, type TestDatabase } from '../support/database.ts';
import { makeWorld, type World } from './world.ts';

const keys = randomKeyRing();
const secret = Buffer.from('correct horse battery staple');
let database: TestDatabase;
let a: World;
let b: World;

beforeAll(async () => {
  database = await testDatabase();
  a = await makeWorld(database.db);
  b = await makeWorld(database.db);
});
afterAll(() => database.drop());

const bindingIn = (world: World, name = 'api_key'): Binding => ({
  organizationId: world.organizationId,
  aad: ['secrets', world.workspaceIds[0] ?? null, name, 1],
});
const sealIn = (world: World, binding = bindingIn(world), ring: Keks = keys) => as(world, (em) => encrypt(em, ring, binding, secret));
const openIn = (world: World, envelope: Buffer, binding = bindingIn(world), ring: Keks = keys) =>
  as(world, (em) => decrypt(em, ring, binding, envelope));

test('what was sealed opens in its place, and nothing of it is in clear', async () => {
  const envelope = await sealIn(a);
  const empty = await as(a, (em) => encrypt(em, keys, bindingIn(a), Buffer.alloc(0)));

  expect(await openIn(a, envelope)).toEqual(secret);
  expect(await openIn(a, empty)).toEqual(Buffer.alloc(0));
  expect(envelope.includes(secret.subarray(0, 8))).toBe(false);
  expect(await sealIn(a)).not.toEqual(envelope);
});

test('a ciphertext moved to another row, name, version or tenant does not open', async () => {
  const envelope = await sealIn(a);

  const elsewhere: Binding[] = [
    bindingIn(a, 'other'),
    { ...bindingIn(a), aad: ['secrets', a.workspaceIds[0] ?? null, 'api_key', 2] },
    { ...bindingIn(a), aad: ['secrets', null, 'api_key', 1] },
    { ...bindingIn(a), aad: ['secrets', a.workspaceIds[0] ?? null, 'api_key1'] },
    { ...bindingIn(a), organizationId: null },
  ];
  for (const binding of elsewhere) await expect(openIn(a, envelope, binding)).rejects.toThrow();
  await expect(openIn(b, envelope)).rejects.toThrow('gone');
  await expect(sweep(database.db, (em) => decrypt(em, keys, bindingIn(b), envelope))).rejects.toThrow();
});

test('another deployment key of the same name is told by its name', async () => {
  const envelope = await sealIn(a);
  const { secret: otherSecret } = randomKeyRing().keks[0];
  const ring: Keks = { keks: [{ ...keys.keks[0], secret: otherSecret }] };

  await expect(openIn(a, envelope, bindingIn(a), ring)).rejects.toThrow(/of LONGHAUL_KEKS is not the one/);
});

test('each changed byte is noticed', async () => {
  const envelope = await sealIn(a);

  for (let at = 0; at < envelope.length; at++) {
    const changed = Buffer.from(envelope);
    changed[at] = (changed[at] ?? 0) ^ 1;
    await expect(openIn(a, changed)).rejects.toThrow();
  }
  await expect(openIn(a, envelope.subarray(0, 20))).rejects.toThrow('Not an envelope');
});

test('an organization has one data key, also when its first two secrets are sealed at once', async () => {
  const fresh = await makeWorld(database.db);

  const envelopes = await Promise.all([1, 2, 3].map(() => sealIn(fresh)));

  expect(new Set(envelopes.map(keyIdOf)).size).toBe(1);
  const stored = await sweep(database.db, (em) => rows(em, 'select id from data_keys where organization_id = ?', [fresh.organizationId]));
  expect(stored).toEqual([{ id: keyIdOf(envelopes[0] ?? Buffer.alloc(0)) }]);
});

test('the platform has a key of its own', async () => {
  const binding: Binding = { organizationId: null, aad: ['signing_keys', 'k1'] };
  const envelope = await as(a, (em) => encrypt(em, keys, binding, secret));

  expect(await as(b, (em) => decrypt(em, keys, binding, envelope))).toEqual(secret);
  expect(keyIdOf(envelope)).not.toBe(keyIdOf(await sealIn(a)));
});

test('after a new deployment key old and new open; once rewrapped the old key may go', async () => {
  const old = await sealIn(a);
  const newest = { id: newId().slice(-8), secret: Buffer.alloc(32, 7) };
  const both: Keks = { keks: [newest, ...keys.keks] };
  const only: Keks = { keks: [newest] };

  await expect(openIn(a, old, bindingIn(a), only)).rejects.toThrow('LONGHAUL_KEKS lacks');
  expect(await openIn(a, old, bindingIn(a), both)).toEqual(secret);

  while ((await sweep(database.db, (em) => rewrapDataKeys(em, both, 1))) > 0);
  expect(await openIn(a, old, bindingIn(a), only)).toEqual(secret);
  expect(await openIn(a, await sealIn(a, bindingIn(a), only), bindingIn(a), only)).toEqual(secret);
  await expect(openIn(a, old, bindingIn(a), keys)).rejects.toThrow('LONGHAUL_KEKS lacks');
});

async function as<R>(world: World, work: (em: Parameters<typeof encrypt>[0]) => Promise<R>): Promise<R> {
  const options = { tenant: organizationTenant(world.organizationId), actor: systemActor, correlationId: newId() };
  return (await transact(database.db, options, ({ em }) => work(em))).value;
}
