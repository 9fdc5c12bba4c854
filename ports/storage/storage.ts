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

/** What an object is made of, a stream or bytes at hand, and what breaks it off. */
export interface PutOptions {
  readonly signal?: AbortSignal;
}

/** Bytes that come, or are at hand. */
export type ByteSource = AsyncIterable<Uint8Array> | Iterable<Uint8Array>;

/**
 * Where the bytes of attachments lie: a folder of this machine, or any S3-compatible server. An object is there whole or not at all, and is
 * never changed. Keys are ours (see `newStorageKey`), never a name that somebody sent.
 * Faults of the place are `service_unavailable`, what does not exist is `not_found`.
 */
export interface Storage {
  /** Streams an object in; what was put of it before a fault or abort is removed. A fault of `source` itself is thrown as it is. */
  put(key: string, source: ByteSource, options?: PutOptions): Promise<void>;
  /** Its bytes, all or a range. The caller reads to the end or destroys the stream. */
  open(key: string, range?: ByteRange): Promise<Readable>;
  /** Removes it; what is not there is removed already. */
  remove(key: string): Promise<void>;
  /** Objects of ours whose keys begin so, in no promised order; they may come and go meanwhile. */
  list(prefix: string): AsyncIterable<StoredObject>;
  /** Removes what uploads had begun that nobody has written to since; gives how many. */
  tidy(untouchedSince: Date): Promise<number>;
  close(): void;
}

/** The storage that the environment names. */
export async function createStorage(settings: StorageSettings): Promise<Storage> {
  switch (settings.kind) {
    case 'folder':
      return createFolderStorage(settings.folder);
    case 's3': {
      // Loaded where it is used: it costs every start a sixth of a second.
      const { createS3Storage } = await import('./s3.ts');
      return createS3Storage(settings);
    }
    default:
      return settings satisfies never;
  }
}

/**
 * All bytes of an object, for those who can't work on a stream.
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
    parts.push(part as Buffer); // a byte stream without an encoding gives buffers
    length += (part as Buffer).byteLength;
    if (length > maxBytes) throw tooLarge(maxBytes);
  }
  return Buffer.concat(parts, length);
}

function tooLarge(maxBytes: number): Error {
  return fail('payload_too_large', { context: { limit_bytes: maxBytes } });
}
