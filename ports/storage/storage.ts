import type { Readable } from 'node:stream';
import { fail } from '../../workflows/contracts/failure.ts';
import type { StorageSettings } from './settings.ts';
import { createFolderStorage } from './folder.ts';

/** A part of an object: `end` is its last byte, as in HTTP. */
export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

/** An object as a listing names it. */
export interface StoredObject {
  readonly key: string;
  readonly storedAt: Date;
}

/** What aborts an upload. */
export interface PutOptions {
  readonly signal?: AbortSignal;
}

/** Bytes that arrive as a stream, or are already in memory. */
export type ByteSource = AsyncIterable<Uint8Array> | Iterable<Uint8Array>;

/**
 * Where the bytes of attachments are stored: a folder of this machine, or any S3-compatible server. An object exists completely or not at all, and is never
 * changed. Keys are ours (see `newStorageKey`), never a name that a client sent. Errors of the storage are `service_unavailable`; what does not exist is
 * `not_found`.
 */
export interface Storage {
  /** Streams an object in; what was written before an error or abort is removed. An error of `source` itself is rethrown unchanged. */
  put(key: string, source: ByteSource, options?: PutOptions): Promise<void>;
  /** Returns its bytes, all or a range. The caller reads to the end or destroys the stream. */
  open(key: string, range?: ByteRange): Promise<Readable>;
  /** Removes it; a missing object counts as removed. */
  remove(key: string): Promise<void>;
  /** Lists our objects whose keys have this prefix, in no guaranteed order; some may appear or disappear during the listing. */
  list(prefix: string): AsyncIterable<StoredObject>;
  /** Removes unfinished uploads that have not been written to since; returns how many. */
  tidy(untouchedSince: Date): Promise<number>;
  close(): void;
}

/** Creates the storage that the environment configures. */
export async function createStorage(settings: StorageSettings): Promise<Storage> {
  switch (settings.kind) {
    case 'folder':
      return createFolderStorage(settings.folder);
    case 's3': {
      // Loaded only where it is used: it would slow down every start by a sixth of a second.
      const { createS3Storage } = await import('./s3.ts');
      return createS3Storage(settings);
    }
    default:
      return settings satisfies never;
  }
}

/**
 * Returns all bytes of an object, for callers that can't work on a stream.
 * @throws `payload_too_large` above `maxBytes`, whatever the row says.
 */
export async function readWhole(
  storage: Pick<Storage, 'open'>,
  { storageKey, sizeBytes }: { readonly storageKey: string; readonly sizeBytes: number },
  maxBytes: number,
): Promise<Buffer> {
  if (sizeBytes > maxBytes) throw tooLarge(maxBytes);
  const parts: Buffer[] = [];
  let length = 0;
  for await (const part of await storage.open(storageKey)) {
    parts.push(part as Buffer); // a byte stream without an encoding yields buffers
    length += (part as Buffer).byteLength;
    if (length > maxBytes) throw tooLarge(maxBytes);
  }
  return Buffer.concat(parts, length);
}

function tooLarge(maxBytes: number): Error {
  return fail('payload_too_large', { context: { limit_bytes: maxBytes } });
}
