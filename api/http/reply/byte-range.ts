import type { IncomingHttpHeaders } from 'node:http';

/** A part of a body; `end` is its last byte. */
export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

const oneRange = /^bytes=[ \t]*(\d{0,15})-(\d{0,15})[ \t]*$/i;

/**
 * The range of a GET (RFC 9110 §14.2), null where the whole is to be sent: none asked for, several, one that lies outside or can't be read,
 * or If-Range naming another version. A range that reaches past the end stops there.
 */
export function readRange({ range, 'if-range': ifRange }: IncomingHttpHeaders, sizeBytes: number, etag: string): ByteRange | null {
  // A date in If-Range does not count here: it does not identify bytes.
  if (range === undefined || (ifRange !== undefined && ifRange !== etag)) return null;
  const [, first = '', last = ''] = oneRange.exec(range) ?? [];
  if (first === '' && last === '') return null;

  if (first === '') {
    const length = Math.min(Number(last), sizeBytes);
    return length === 0 ? null : { start: sizeBytes - length, end: sizeBytes - 1 };
  }
  const start = Number(first);
  const end = last === '' ? sizeBytes - 1 : Math.min(Number(last), sizeBytes - 1);
  return start <= end && start < sizeBytes && (last === '' || Number(last) >= start) ? { start, end } : null;
}
