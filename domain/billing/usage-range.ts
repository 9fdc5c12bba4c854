import { bucketMinutes } from '../../db/billing/ledger/rollups.ts';
import { isTimeZone } from '../../db/tenancy/organizations/zones.ts';
import { fail, type Violation } from '../../workflows/contracts/failure.ts';

const bucketMs = bucketMinutes * 60_000;
const maxDays = 400;
const dayMs = 86_400_000;

/** The default end of a range of usage: the end of the bucket that fills now. */
export function endOfBucket(now: Date): string {
  return new Date(Math.ceil((now.getTime() + 1) / bucketMs) * bucketMs).toISOString();
}

/**
 * Throws 422 for a range that rollups can't answer exactly, since a bound lies inside of a bucket; also for one of more than 400 days, and for a zone that
 * doesn't exist.
 */
export function checkRollupRange({ from, to, zone }: { readonly from?: string; readonly to: string; readonly zone?: string }): void {
  const isOff = (instant: string) => Date.parse(instant) % bucketMs !== 0;
  const message = `must be on a quarter of an hour, for example 2026-01-31T10:15:00Z`;
  const errors: Violation[] = [
    ...(from !== undefined && isOff(from) ? [violation('from', 'multiple', message)] : []),
    ...(isOff(to) ? [violation('to', 'multiple', message)] : []),
    ...(from === undefined ? [] : lengthFaults(from, to)),
    ...(zone !== undefined && !isTimeZone(zone) ? [violation('timezone', 'timezone', 'must be an IANA time zone')] : []),
  ];
  if (errors.length > 0) throw fail('validation_failed', { errors });
}

/** Throws 422 for a range of more than 400 days. */
export function checkExportRange(from: string, to: string): void {
  const errors = lengthFaults(from, to);
  if (errors.length > 0) throw fail('validation_failed', { errors });
}

function lengthFaults(from: string, to: string): Violation[] {
  if (Date.parse(from) > Date.parse(to)) return [violation('from', 'range', 'must not be later than to')];
  return Date.parse(to) - Date.parse(from) > maxDays * dayMs
    ? [violation('from', 'range', `must be at most ${maxDays} days before to`)]
    : [];
}

function violation(name: string, rule: string, message: string): Violation {
  return { in: 'query', pointer: null, name, rule, message };
}
