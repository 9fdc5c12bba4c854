import { eraseOldNotices } from '../../domain/alerts/upkeep.ts';
import { eraseOldDeliveries, eraseOldOccurrences, runRetention, type Retained } from '../../domain/retention.ts';
import type { AuditKeys } from '../../db/audit/seal.ts';
import type { Databases } from '../../db/databases.ts';
import { eraseOldRuns, type RetentionOptions } from '../../domain/runs/end/run-retention.ts';

export interface AgeDeps extends RetentionOptions {
  readonly db: Databases;
  readonly keys: AuditKeys;
}

/** Numbers of rows that expired. */
export interface ErasedByAge extends Retained {
  readonly runs: number;
  /** Notices of alerts. */
  readonly notices: number;
  /** Occurrences of schedules, and backfills. */
  readonly occurrences: number;
  /** Deliveries of webhooks that were deleted or lost their body, and the keys by which repeats are recognized. */
  readonly deliveries: number;
}

/**
 * Expires what is past the retention settings of its organization: runs, notices of alerts, deliveries of webhooks, occurrences of schedules, audit entries and
 * failed logins. Repeatable at any point. An error in one does not keep the others from expiring; the first error is thrown at the end.
 */
export async function eraseByAge({ db, keys, ...options }: AgeDeps): Promise<ErasedByAge> {
  const faults: unknown[] = [];
  const attempt = async <R>(what: string, work: () => Promise<R>): Promise<R | null> => {
    try {
      return await work();
    } catch (err) {
      options.signal.throwIfAborted();
      options.log.error({ err, what }, 'not ended by age');
      faults.push(err);
      return null;
    }
  };

  const runs = await attempt('runs', () => eraseOldRuns(db, options));
  const notices = await attempt('notices', () => eraseOldNotices(db, options.signal));
  const deliveries = await attempt('deliveries', () => eraseOldDeliveries(db, options.signal));
  const occurrences = await attempt('occurrences', () => eraseOldOccurrences(db, options.signal));
  const entries = await attempt('audit entries', () => runRetention(db, keys, options));
  if (runs === null || notices === null || deliveries === null || occurrences === null || entries === null) throw faults[0];
  if (runs + notices + deliveries + occurrences > 0) options.log.info({ runs, notices, deliveries, occurrences }, 'ended by age');
  return { runs, notices, deliveries, occurrences, ...entries };
}
