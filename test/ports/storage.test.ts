import { mkdirSync, mkdtempSync, readdirSync, readlinkSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createStorage, readWhole, type Storage } from '../../ports/storage/storage.ts';
import { createS3Storage } from '../../ports/storage/s3.ts';
import { newStorageKey, storagePlace } from '../../ports/storage/key.ts';
import { until } from '../support/temporal.ts';
import { s3Keys, startS3Server, type S3Server } from '../fakes/s3-server.ts';

const folder = mkdtempSync(join(tmpdir(), 'longhaul-storage-'));
const organizationId = crypto.randomUUID();
let s3: S3Server;
let storages: Record<'folder' | 's3', Storage>;

beforeAll(async () => {
  s3 = await startS3Server();
  storages = {
    folder: await createStorage({ kind: 'folder', folder }),
    s3: await createStorage({
      kind: 's3',
      bucket: 'files',
      region: 'eu-test-1',
      prefix: 'lh/',
      endpoint: s3.endpoint,
      credentials: s3Keys,
    }),
  };
});
afterAll(() => {
  for (const storage of Object.values(storages)) storage.close();
  s3.close();
  rmSync(folder, { recursive: true });
});

async function* chunks(...parts: (string | Buffer | Error)[]): AsyncGenerator<Uint8Array> {
  for (const part of parts) {
    if (part instanceof Error) throw part;
    yield Buffer.from(part);
  }
}

const bytesOf = async (storage: Storage, key: string, range?: { start: number; end: number }) => {
  const parts: Buffer[] = [];
  for await (const part of await storage.open(key, range)) parts.push(part as Buffer);
  return Buffer.concat(parts);
};

/** Files without a name that this process still holds open. */
function openSpools(): string[] {
  const targets = readdirSync('/proc/self/fd').map((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`);
    } catch {
      return '';
    }
  });
  return targets.filter((target) => /longhaul-.*\.part/.test(target));
}

async function keysIn(storage: Storage, prefix: string): Promise<string[]> {
  const keys: string[] = [];
  for await (const { key, storedAt } of storage.list(prefix)) {
    expect(storedAt.getTime()).toBeGreaterThan(0);
    keys.push(key);
  }
  return keys.toSorted();
}

describe.each(['folder', 's3'] as const)('in a storage of kind %s', (kind) => {
  test('what was put comes back, whole or in ranges, until it is removed', async () => {
    const [storage, key] = [storages[kind], newStorageKey(organizationId)];

    await storage.put(key, chunks('hello ', '', 'world'));

    expect((await bytesOf(storage, key)).toString()).toBe('hello world');
    expect((await bytesOf(storage, key, { start: 4, end: 6 })).toString()).toBe('o w');
    expect((await readWhole(storage, { storageKey: key, sizeBytes: 11 }, 11)).toString()).toBe('hello world');
    await expect(readWhole(storage, { storageKey: key, sizeBytes: 1 }, 10)).rejects.toMatchObject({ code: 'payload_too_large' });
    await storage.remove(key);
    await storage.remove(key);
    await expect(storage.open(key)).rejects.toMatchObject({ code: 'not_found' });
  });

  test('nothing and much are stored alike', async () => {
    const storage = storages[kind];
    const [none, much] = [newStorageKey(organizationId), newStorageKey(organizationId)];
    const block = Buffer.alloc(1_000_000, 'x');

    await storage.put(none, chunks());
    await storage.put(much, chunks(...Array.from({ length: 8 }, () => block)));

    expect([(await bytesOf(storage, none)).length, (await bytesOf(storage, much)).length]).toEqual([0, 8_000_000]);
  });

  test('a source that fails, or an abort, leaves nothing', async () => {
    const [storage, key] = [storages[kind], newStorageKey(organizationId)];
    const cause = new Error('broken off');

    await expect(storage.put(key, chunks('a', cause))).rejects.toBe(cause);
    await expect(storage.put(key, chunks('a'), { signal: AbortSignal.abort(cause) })).rejects.toBe(cause);

    await expect(storage.open(key)).rejects.toMatchObject({ code: 'not_found' });
    expect(readdirSync(tmpdir()).filter((name) => /^longhaul-.*\.part$/.test(name))).toEqual([]);
    expect(readdirSync(join(folder, '.parts'))).toEqual([]);
  });

  test('a listing gives the keys of one place, and of all', async () => {
    const storage = storages[kind];
    const [mine, other] = [crypto.randomUUID(), crypto.randomUUID()];
    const keys = Array.from({ length: 5 }, () => newStorageKey(mine));
    for (const key of [...keys, newStorageKey(other)]) await storage.put(key, chunks('x'));

    expect(await keysIn(storage, storagePlace(mine))).toEqual(keys.toSorted());
    expect(await keysIn(storage, storagePlace(crypto.randomUUID()))).toEqual([]);
    expect(await keysIn(storage, '')).toEqual(expect.arrayContaining(keys));
  });

  test('a key of another form never reaches the storage', async () => {
    const storage = storages[kind];

    for (const key of ['../x', '/etc/passwd', `${organizationId}/..`, `${organizationId}/${'a'.repeat(48)}/x`, ''])
      await expect(storage.put(key, chunks('x'))).rejects.toThrow('not a storage key');
  });
});

test('files are for their owner alone', async () => {
  const key = newStorageKey(organizationId);
  await storages.folder.put(key, chunks('secret'));

  expect([statSync(join(folder, key)).mode & 0o777, statSync(join(folder, organizationId)).mode & 0o777]).toEqual([0o600, 0o700]);
});

test('a server that fails is asked again; one that goes on failing is service_unavailable, without its words', async () => {
  const key = newStorageKey(organizationId);
  s3.faults.push(500);
  await storages.s3.put(key, chunks('x'));
  s3.faults.push(500, 500, 500);

  await expect(storages.s3.open(key)).rejects.toMatchObject({ code: 'service_unavailable', context: { reason: 'storage_500' } });
  expect((await bytesOf(storages.s3, key)).toString()).toBe('x');
});

test('a wrong secret is refused by the server and told as such', async () => {
  const credentials = { ...s3Keys, secretAccessKey: 'other' };
  const wrong = await createStorage({ kind: 's3', bucket: 'files', region: 'x', prefix: '', endpoint: s3.endpoint, credentials });

  await expect(wrong.put(newStorageKey(organizationId), chunks('x'))).rejects.toMatchObject({ context: { reason: 'storage_403' } });
  wrong.close();
});

test('a place that is no folder is service_unavailable, and what a killed process had begun is tidied away', async () => {
  const file = join(folder, 'no-folder');
  writeFileSync(file, 'x');
  const broken = await createStorage({ kind: 'folder', folder: file });
  const [old, young] = ['old', 'young'].map((name) => join(folder, '.parts', name));
  for (const path of [old, young]) writeFileSync(path ?? '', 'begun');
  utimesSync(old ?? '', new Date(0), new Date(0));

  await expect(broken.put(newStorageKey(organizationId), chunks('x'))).rejects.toMatchObject({ code: 'service_unavailable' });
  await expect(broken.open(newStorageKey(organizationId))).rejects.toMatchObject({ code: 'service_unavailable' });
  expect(await storages.folder.tidy(new Date(Date.now() - 3_600_000))).toBe(1);

  expect(readdirSync(join(folder, '.parts'))).toEqual(['young']);
  rmSync(young ?? '');
});

test.each(['folder', 's3'] as const)('what others put beside our objects is in no listing of a %s', async (kind) => {
  mkdirSync(join(folder, 'lost+found'), { recursive: true });
  writeFileSync(join(folder, 'lost+found', 'x'), 'x');
  mkdirSync(join(folder, organizationId), { recursive: true });
  writeFileSync(join(folder, organizationId, '.nfs0001'), 'x');
  for (const name of ['lh/report.csv', 'other/x', `lh/${organizationId}/notes.txt`]) s3.objects.set(name, Buffer.from('x'));
  await storages[kind].put(newStorageKey(organizationId), chunks('x'));

  const keys = await keysIn(storages[kind], '');

  expect(keys.length).toBeGreaterThan(0);
  expect(keys.filter((key) => !/^[0-9a-f-]{36}\/[0-9a-f]{48}$/.test(key))).toEqual([]);
});

test('a machine without room for the way to the bucket is service_unavailable', async () => {
  const settings = { kind: 's3', bucket: 'files', region: 'x', prefix: '', endpoint: s3.endpoint, credentials: s3Keys } as const;
  const storage = createS3Storage(settings, join(folder, 'is-not-there'));

  await expect(storage.put(newStorageKey(organizationId), chunks('x'))).rejects.toMatchObject({ context: { reason: 'storage_spool' } });
  storage.close();
});

test('an upload that is broken off on its way to the bucket leaves neither file nor open handle', async () => {
  const abort = new AbortController();
  const cutOff = async function* () {
    yield Buffer.from('x');
    setImmediate(() => abort.abort());
  };

  s3.faults.push(500, 500, 500);
  const failed = storages.s3.put(newStorageKey(organizationId), chunks(Buffer.alloc(3_000_000)));
  await expect(failed).rejects.toMatchObject({ code: 'service_unavailable' });
  await storages.s3.put(newStorageKey(organizationId), cutOff(), { signal: abort.signal }).catch(() => undefined);

  await until(async () => openSpools().length === 0);
});

test('a bucket that is not there is no missing file', async () => {
  const gone = await createStorage({
    kind: 's3',
    bucket: 'no-bucket',
    region: 'x',
    prefix: '',
    endpoint: s3.endpoint,
    credentials: s3Keys,
  });

  await expect(gone.open(newStorageKey(organizationId))).rejects.toMatchObject({ context: { reason: 'storage_404' } });
  gone.close();
});
