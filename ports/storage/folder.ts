import { randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, open as openFile, opendir, rename, rm, stat, type FileHandle } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Readable } from 'node:stream';
import { fail } from '../../workflows/contracts/failure.ts';
import type { ByteRange, ByteSource, Storage, StoredObject } from './storage.ts';
import { checkKey, isStorageKey } from './key.ts';

const chunkBytes = 65_536;
/** Folder of unfinished uploads; no key can have its name. */
const partsFolder = '.parts';
/** Form of an organization's folder; a disk also has others. */
const placeForm = /^[0-9a-f-]{36}$/;

/** Stores files in a folder (0700, files 0600), for one machine or a volume that all processes share. */
export function createFolderStorage(folder: string): Storage {
  const pathOf = (key: string) => join(folder, ...checkKey(key).split('/'));

  return {
    async put(key, source, { signal } = {}) {
      const path = pathOf(key);
      const part = join(folder, partsFolder, randomUUID());
      try {
        await prepared(() => Promise.all([dirname(part), dirname(path)].map((dir) => mkdir(dir, { recursive: true, mode: 0o700 }))));
        await writePart(part, source, signal);
        await prepared(() => rename(part, path).then(() => syncFolder(dirname(path))));
      } finally {
        // A failed cleanup must not hide the original error; leftovers are removed later.
        await rm(part, { force: true }).catch(() => undefined);
      }
    },
    async open(key, range) {
      const handle = await openExisting(pathOf(key));
      return readerOf(handle, range);
    },
    async remove(key) {
      await prepared(() => rm(pathOf(key), { force: true }));
    },
    list: (prefix) => listFolder(folder, prefix),
    tidy: (untouchedSince) => prepared(() => removeParts(join(folder, partsFolder), untouchedSince)),
    close: () => undefined,
  };
}

/** Writes and syncs: a name that appears later must not stand for bytes that a crash lost. */
async function writePart(part: string, source: ByteSource, signal: AbortSignal | undefined): Promise<void> {
  const handle = await prepared(() => openFile(part, 'wx', 0o600));
  try {
    for await (const bytes of source) {
      signal?.throwIfAborted();
      await prepared(() => writeWhole(handle, bytes));
    }
    signal?.throwIfAborted();
    await prepared(() => handle.sync());
  } finally {
    await handle.close();
  }
}

/** Without it a crash may lose the name of a file whose bytes are safe. */
async function syncFolder(path: string): Promise<void> {
  const handle = await openFile(path, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

async function writeWhole(handle: FileHandle, bytes: Uint8Array): Promise<void> {
  for (let at = 0; at < bytes.byteLength;) at += (await handle.write(bytes, at)).bytesWritten;
}

async function openExisting(path: string): Promise<FileHandle> {
  try {
    return await openFile(path, 'r');
  } catch (error) {
    throw codeOf(error) === 'ENOENT' ? fail('not_found', { detail: 'The stored file is lost.', cause: error }) : unavailable(error);
  }
}

function readerOf(handle: FileHandle, range: ByteRange | undefined): Readable {
  return createReadStream('', { fd: handle, highWaterMark: chunkBytes, ...(range ? { start: range.start, end: range.end } : {}) });
}

async function* listFolder(folder: string, prefix: string): AsyncGenerator<StoredObject> {
  for (const place of await namesIn(folder)) {
    if (!placeForm.test(place)) continue;
    if (!prefix.startsWith(`${place}/`) && !`${place}/`.startsWith(prefix)) continue;
    yield* listPlace(folder, place, prefix);
  }
}

async function* listPlace(folder: string, place: string, prefix: string): AsyncGenerator<StoredObject> {
  for await (const entry of await opendir(join(folder, place))) {
    const key = `${place}/${entry.name}`;
    if (!entry.isFile() || !isStorageKey(key) || !key.startsWith(prefix)) continue;
    const found = await stat(join(folder, key)).catch(() => null);
    if (found) yield { key, storedAt: found.mtime };
  }
}

/** A killed process leaves the part of the file that it had written. */
async function removeParts(folder: string, untouchedSince: Date): Promise<number> {
  let removed = 0;
  try {
    for await (const { name } of await opendir(folder)) {
      const found = await stat(join(folder, name)).catch(() => null);
      if (!found || found.mtime > untouchedSince) continue;
      await rm(join(folder, name), { force: true });
      removed += 1;
    }
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error;
  }
  return removed;
}

async function namesIn(folder: string): Promise<string[]> {
  const names: string[] = [];
  try {
    for await (const entry of await opendir(folder)) if (entry.isDirectory()) names.push(entry.name);
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw unavailable(error);
  }
  return names;
}

/** Maps errors of the disk, without its paths. */
async function prepared<R>(work: () => Promise<R>): Promise<R> {
  try {
    return await work();
  } catch (error) {
    throw unavailable(error);
  }
}

function unavailable(cause: unknown): Error {
  const reason = `storage_${(codeOf(cause) ?? 'fault').toLowerCase()}`;
  return fail('service_unavailable', { detail: 'The file storage is failing.', reason, retryAfterS: 5, cause });
}

function codeOf(error: unknown): string | null {
  return typeof error === 'object' && error !== null && 'code' in error && typeof error.code === 'string' ? error.code : null;
}
