import { createHash } from 'node:crypto';
import type { Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { pipeline } from 'node:stream/promises';

/**
 * A base as a file: lines of JSON (https://jsonlines.org), compressed with gzip (RFC 1952). The first line is a header; the last one states how many lines of
 * each type precede it and the SHA-256 of their bytes, so that a truncated or changed bundle is detected.
 */
const bundleFormat = 'longhaul.knowledge';
const bundleVersion = 1;

/** One line of a bundle. */
export type BundleRecord = { readonly type: string } & Readonly<Record<string, unknown>>;

/** Limits of a reader: unpacked bytes of one line and of all lines, and number of lines. */
export interface BundleLimits {
  readonly lineBytes: number;
  readonly bytes: number;
  readonly lines: number;
}

export const bundleLimits: BundleLimits = { lineBytes: 16 * 1_024 * 1_024, bytes: 4 * 1_024 * 1_024 * 1_024, lines: 3_000_000 };

/** Why a file is not a bundle. `line` counts from 1, `offset` in bytes of the unpacked file. */
export class BundleError extends Error {
  readonly code: 'not_a_bundle' | 'cut_off' | 'wrong_digest' | 'too_large' | 'unknown_version';
  readonly line: number;
  readonly offset: number;

  constructor(code: BundleError['code'], message: string, { line, offset }: { readonly line: number; readonly offset: number }) {
    super(message);
    this.code = code;
    this.line = line;
    this.offset = offset;
  }
}

/** Writes the lines of a bundle, unpacked: adds the format to its header, and appends its last line. */
export async function* writeBundle(records: AsyncIterable<BundleRecord>): AsyncGenerator<Buffer> {
  const digest = createHash('sha256');
  const counts: Record<string, number> = {};
  for await (const record of records) {
    const named = record.type === 'header' ? { ...record, format: bundleFormat, version: bundleVersion } : record;
    const bytes = Buffer.from(`${JSON.stringify(named)}\n`);
    digest.update(bytes);
    counts[record.type] = (counts[record.type] ?? 0) + 1;
    yield bytes;
  }
  yield Buffer.from(`${JSON.stringify({ type: 'end', counts, sha256: digest.digest('hex') })}\n`);
}

/** One line as it is in the file, without its line end. */
export interface BundleLine {
  readonly line: number;
  readonly offset: number;
  readonly bytes: Buffer;
}

/** Reads the lines of a packed bundle. Throws a BundleError for bytes that are not gzip or end early, and for a line or a file beyond the limits. */
export async function* readLines(packed: Readable, limits: BundleLimits = bundleLimits): AsyncGenerator<BundleLine> {
  const gunzip = createGunzip();
  const flowing = pipeline(packed, gunzip).catch((error: unknown) => error);
  let place = { line: 1, offset: 0 };
  let rest: Buffer[] = [];
  let restBytes = 0;
  try {
    for await (const chunk of gunzip as AsyncIterable<Buffer>) {
      let from = 0;
      for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, from)) {
        rest.push(chunk.subarray(from, end));
        const bytes = Buffer.concat(rest);
        refuseSize({ bytes: bytes.byteLength, total: place.offset + bytes.byteLength }, place, limits);
        yield { ...place, bytes };
        place = { line: place.line + 1, offset: place.offset + bytes.byteLength + 1 };
        from = end + 1;
        rest = [];
        restBytes = 0;
      }
      if (from < chunk.byteLength) rest.push(chunk.subarray(from));
      restBytes += chunk.byteLength - from;
      refuseSize({ bytes: restBytes, total: place.offset + restBytes }, place, limits);
    }
  } catch (error) {
    throw translated(error, place);
  } finally {
    gunzip.destroy();
    await flowing;
  }
  if (restBytes > 0) yield { ...place, bytes: Buffer.concat(rest) };
}

function refuseSize(
  { bytes, total }: { readonly bytes: number; readonly total: number },
  place: { readonly line: number; readonly offset: number },
  limits: BundleLimits,
): void {
  if (bytes > limits.lineBytes) throw new BundleError('too_large', `Line ${place.line} has more than ${limits.lineBytes} bytes.`, place);
  if (place.line > limits.lines) throw new BundleError('too_large', `The file has more than ${limits.lines} lines.`, place);
  if (total > limits.bytes) throw new BundleError('too_large', `Unpacked, the file has more than ${limits.bytes} bytes.`, place);
}

function translated(error: unknown, place: { readonly line: number; readonly offset: number }): unknown {
  const code = typeof error === 'object' && error !== null && 'code' in error ? error.code : null;
  if (code === 'Z_BUF_ERROR') return new BundleError('cut_off', 'The file ends before its last line.', place);
  if (typeof code === 'string' && code.startsWith('Z_'))
    return new BundleError('not_a_bundle', 'The file is not compressed with gzip.', place);
  return error;
}

/** What the last line of a bundle states about it. */
export interface BundleSummary {
  readonly header: BundleRecord;
  readonly counts: Readonly<Record<string, number>>;
  /** Number of lines without the last one. */
  readonly lines: number;
}

/**
 * Reads a whole bundle and returns its summary. Throws a BundleError unless its header and last line are valid and the lines between are those that were
 * written.
 */
export async function checkBundle(packed: Readable, limits: BundleLimits = bundleLimits): Promise<BundleSummary> {
  const digest = createHash('sha256');
  let header: BundleRecord | null = null;
  let last: BundleLine | null = null;
  for await (const line of readLines(packed, limits)) {
    if (last !== null) digest.update(last.bytes).update('\n');
    header ??= headerOf(line);
    last = line;
  }
  const none = { line: 1, offset: 0 };
  if (header === null || last === null) throw new BundleError('not_a_bundle', 'The file is empty.', none);
  const end = parseRecord(last.bytes);
  if (end === null || end.type !== 'end') throw new BundleError('cut_off', 'The last line is missing.', last);
  if (end['sha256'] !== digest.digest('hex'))
    throw new BundleError('wrong_digest', 'The lines do not match the checksum of the last line.', last);
  return { header, counts: countsOf(end['counts']), lines: last.line - 1 };
}

function headerOf(line: BundleLine): BundleRecord {
  const header = parseRecord(line.bytes);
  if (header === null || header.type !== 'header' || header['format'] !== bundleFormat)
    throw new BundleError('not_a_bundle', `The first line is not a ${bundleFormat} header.`, line);
  if (header['version'] !== bundleVersion) throw new BundleError('unknown_version', 'The bundle has an unsupported version.', line);
  return header;
}

function countsOf(value: unknown): Record<string, number> {
  const entries = typeof value === 'object' && value !== null ? Object.entries(value) : [];
  return Object.fromEntries(entries.filter((entry): entry is [string, number] => typeof entry[1] === 'number'));
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

/** Returns a line as JSON; null for a value that is not an object with a type, for invalid JSON and for invalid UTF-8. */
export function parseRecord(bytes: Uint8Array): BundleRecord | null {
  try {
    const value: unknown = JSON.parse(utf8.decode(bytes));
    return isRecord(value) ? value : null;
  } catch {
    return null;
  }
}

function isRecord(value: unknown): value is BundleRecord {
  return typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string';
}
