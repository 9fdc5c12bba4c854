import { valueAt } from '../json/pointer.ts';

const rfc3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:\d\d)$/i;
const unix = /^\d{1,13}(?:\.\d{1,9})?$/;
/** As seconds, this is in the year 5138; larger numbers are milliseconds. */
const msFrom = 100_000_000_000;
const latestMs = Date.UTC(9999, 11, 31);

/** Returns the time at a JSON pointer in a body: RFC 3339, or Unix in seconds or milliseconds; null when there is none, and without a pointer. */
export function eventTimeOf(body: unknown, pointer: string | null): Date | null {
  const value = pointer === null ? null : valueAt(body, pointer);
  if (typeof value !== 'string' && typeof value !== 'number') return null;
  const text = String(value).trim();
  const ms = rfc3339.test(text) ? Date.parse(text) : unix.test(text) ? msOf(Number(text)) : Number.NaN;
  return Number.isFinite(ms) && ms >= 0 && ms <= latestMs ? new Date(ms) : null;
}

function msOf(given: number): number {
  return Math.round(given >= msFrom ? given : given * 1_000);
}
