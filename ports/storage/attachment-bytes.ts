import { createHash } from 'node:crypto';
import { fail } from '../../workflows/contracts/failure.ts';
import { headBytes, sniff, type Sniffed } from '../parsing/media-type.ts';
import type { Storage } from './storage.ts';
import { isTextSample } from '../parsing/text/text-bytes.ts';

/** Bytes from outside, and their name there. */
export interface IncomingFile {
  readonly filename: string;
  readonly bytes: AsyncIterable<Uint8Array> | Iterable<Uint8Array>;
}

/** A stored file. */
export interface StoredFile {
  readonly storageKey: string;
  readonly filename: string;
  readonly mediaType: string;
  readonly sizeBytes: number;
  readonly sha256: string;
  /** Text that is not UTF-8, or contains U+0000; only where the limits accept it. */
  readonly isForeignText?: boolean;
}

export interface StoreLimits {
  readonly maxBytes: number;
  /** Media type of bytes without a signature that are not text; without it they are refused. */
  readonly untyped?: string;
  /** Text in another encoding, or with U+0000 in it, is stored too, under the type of its name. */
  readonly takesForeignText?: boolean;
  readonly signal?: AbortSignal;
}

const maxNameChars = 255;
const maxExtension = 20;

/**
 * Streams a file into the storage under a key, hashes and counts it, and determines its type by its first bytes. No more than a few chunks are in memory; a
 * refused file leaves nothing behind.
 * @throws `payload_too_large` above the limit, `unsupported_media_type` for programs, types that are not listed, and bytes that are neither.
 */
export async function storeFile(storage: Storage, storageKey: string, file: IncomingFile, limits: StoreLimits): Promise<StoredFile> {
  const filename = cleanFilename(file.filename);
  const { head, rest } = await readHead(file.bytes);
  const sniffed = await sniff(head.subarray(0, headBytes), filename);
  if (sniffed.kind === 'refused') throw refused('Files of this type are not accepted.');

  const hash = createHash('sha256');
  let sizeBytes = 0;
  const checkText = textCheck(sniffed);
  let { mediaType } = sniffed;
  let isForeignText = false;
  async function* checked(): AsyncGenerator<Uint8Array> {
    for await (const bytes of chained(head, rest)) {
      sizeBytes += bytes.byteLength;
      if (sizeBytes > limits.maxBytes) throw fail('payload_too_large', { context: { limit_bytes: limits.maxBytes } });
      checkOrUntyped(bytes);
      hash.update(bytes);
      yield bytes;
    }
    checkOrUntyped(null);
  }
  function checkOrUntyped(bytes: Uint8Array | null): void {
    if (isForeignText || mediaType === limits.untyped) return;
    try {
      checkText(bytes);
    } catch (error) {
      isForeignText = limits.takesForeignText === true && isTextSample(head.subarray(0, headBytes));
      if (isForeignText) return;
      if (limits.untyped === undefined) throw error;
      mediaType = limits.untyped;
    }
  }

  await storage.put(storageKey, checked(), limits);
  return { storageKey, filename, mediaType, sizeBytes, sha256: hash.digest('hex'), ...(isForeignText ? { isForeignText } : {}) };
}

/** Returns a name that may be displayed and passed on: NFC, one line, without a path, at most 255 characters. It never names a file of ours. */
export function cleanFilename(name: string): string {
  const last = name.toWellFormed().normalize('NFC').split(/[/\\]/).at(-1) ?? '';
  // Removes control characters, and those that change text direction, with which `exe.pdf` could be read differently.
  const clean = last.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}\u061C\u200E\u200F\u202A-\u202E\u2066-\u2069\uFEFF]/gu, '').trim();
  if (clean === '' || clean === '.' || clean === '..') return 'file';
  return shortened(clean);
}

function shortened(name: string): string {
  if (name.length <= maxNameChars) return name;
  const dot = name.lastIndexOf('.');
  const extension = dot > 0 && name.length - dot <= maxExtension ? name.slice(dot) : '';
  const stem = name.slice(0, maxNameChars - extension.length);
  // Never half a surrogate pair.
  return (stem.isWellFormed() ? stem : stem.slice(0, -1)) + extension;
}

type Bytes = AsyncIterator<Uint8Array> | Iterator<Uint8Array>;

/** Reads enough for the type, or all there is. */
async function readHead(source: IncomingFile['bytes']): Promise<{ head: Buffer; rest: Bytes }> {
  const rest: Bytes = Symbol.asyncIterator in source ? source[Symbol.asyncIterator]() : source[Symbol.iterator]();
  const parts: Uint8Array[] = [];
  for (let length = 0; length < headBytes;) {
    const next = await rest.next();
    if (next.done) break;
    parts.push(next.value);
    length += next.value.byteLength;
  }
  return { head: Buffer.concat(parts), rest };
}

async function* chained(head: Buffer, rest: Bytes): AsyncGenerator<Uint8Array> {
  try {
    if (head.byteLength > 0) yield head;
    for (let next = await rest.next(); !next.done; next = await rest.next()) yield next.value;
  } finally {
    await rest.return?.();
  }
}

/** Without a signature all of it must be UTF-8 without U+0000; null marks the end. */
function textCheck(sniffed: Sniffed): (bytes: Uint8Array | null) => void {
  if (sniffed.kind !== 'text') return () => undefined;
  const decoder = new TextDecoder('utf-8', { fatal: true });
  return (bytes) => {
    if (bytes?.includes(0)) throw refused(notUtf8);
    try {
      decoder.decode(bytes ?? undefined, { stream: bytes !== null });
    } catch (cause) {
      throw refused(notUtf8, cause);
    }
  };
}

/** Refuses foreign text that is stored for a purpose that accepts only UTF-8. */
export function refuseForeignText({ isForeignText }: Pick<StoredFile, 'isForeignText'>): void {
  if (isForeignText) throw refused(notUtf8);
}

const notUtf8 = 'The file has no known type and is not UTF-8 text.';

function refused(detail: string, cause?: unknown): Error {
  return fail('unsupported_media_type', { detail, cause });
}
