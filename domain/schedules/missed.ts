import { databaseTime } from '../../db/database-time.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';
import { claim, type Instant } from '../../db/triggers/claim-occurrence.ts';
import { settle, type Outcome } from '../../db/triggers/occurrences.ts';
import type { ScheduleRow } from '../../db/triggers/schedules.ts';
import { moveWatermark } from '../../db/triggers/write-schedules.ts';
import { strikesAfter } from '../../ports/schedule/cadence.ts';
import { nextAfter, timetableOf } from '../../ports/schedule/plan.ts';
import { instantOf } from './fire-instant.ts';

const maxMissed = 1_000;

/** Writes a row for each overdue instant of a locked schedule that can no longer be caught up, if it has none. */
export async function recordOverdue(tx: TenantTransaction, schedule: ScheduleRow): Promise<void> {
  if (!schedule.isActive || schedule.deletedAt !== null) return;
  const timetable = timetableOf(schedule);
  const now = await databaseTime(tx.em);
  const until = new Date(now.getTime() - (schedule.catchUpSeconds + schedule.jitterSeconds + 60) * 1_000);
  const strikes = strikesAfter(timetable, {
    after: new Date(schedule.evaluatedUntil).getTime(),
    until: until.getTime(),
    count: maxMissed,
  });
  const instants = strikes.map((strike) => instantOf(strike, 'regular'));
  await recordMissed(tx, schedule, instants, now);
  // When the list was truncated, the next pass continues after the last recorded instant.
  const reached = strikes.length === maxMissed ? new Date(strikes.at(-1)?.at ?? until) : until;
  await moveWatermark(tx, schedule.id, { until: reached, nextRunAt: nextAfter(timetable, reached) });
}

/** Records instants that were not fired in time, so that each has a row; instants with a row stay as they are. */
export async function recordMissed(tx: TenantTransaction, schedule: ScheduleRow, instants: readonly Instant[], now: Date): Promise<void> {
  for (const instant of instants) {
    const occurrenceId = await claim(tx, schedule, instant, schedule.overlap);
    const outcome: Outcome = instant.isSkipped ? { status: 'skipped_dst' } : { status: 'missed', reason: 'never_fired' };
    if (occurrenceId !== null) await settle(tx, schedule, { occurrenceId, outcome, now });
  }
}
