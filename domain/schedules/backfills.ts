import { databaseTime } from '../../db/database-time.ts';
import { newId } from '../../db/ids.ts';
import { countRunInstants, readRunInstants } from '../../db/schedules/backfill-queries.ts';
import { insertBackfill } from '../../db/schedules/backfills.ts';
import type { BackfillOverlap } from '../../db/schedules/schedule-backfill.entity.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';
import { lockSchedule, type ScheduleRow } from '../../db/triggers/schedules.ts';
import { countStrikes, strikesAfter, type ScheduledInstant, type Timetable } from '../../ports/schedule/cadence.ts';
import { timetableOf } from '../../ports/schedule/plan.ts';
import { fail, invalid } from '../../workflows/contracts/failure.ts';
import { checkBudgets } from '../billing/budgets.ts';

/** The requested backfill. */
export interface AskedBackfill {
  /** Both inclusive. */
  readonly from: Date;
  readonly to: Date;
  readonly overlap: BackfillOverlap;
  readonly maxRuns: number;
  readonly isDryRun: boolean;
}

/** A backfill as it was created, or would be. */
export interface PlannedBackfill {
  /** Null: a dry run. */
  readonly id: string | null;
  readonly planned: number;
  readonly alreadyRun: number;
  /** The first of its instants. */
  readonly instants: readonly ScheduledInstant[];
  readonly createdAt: Date;
}

const maxRangeMs = 366 * 86_400_000;
/** The most instants that are checked one by one. */
const maxInstants = 50_000;
const instantsShown = 100;

/** Creates a backfill of a schedule. Throws as `makeBackfill` does, 404 for a deleted schedule. */
export async function backfillPast(tx: TenantTransaction, scheduleId: string, asked: AskedBackfill): Promise<PlannedBackfill> {
  const schedule = await lockSchedule(tx, scheduleId);
  if (schedule === null || schedule.deletedAt !== null) throw fail('not_found');
  return makeBackfill(tx, schedule, asked);
}

/**
 * Creates a backfill of a locked schedule: the instants of a past range that have no run. A dry run writes nothing. Throws 422 for a range that is not in the
 * past or too long, and with `planned` for more instants than requested; 402 and 429 as a start would.
 */
async function makeBackfill(tx: TenantTransaction, schedule: ScheduleRow, asked: AskedBackfill): Promise<PlannedBackfill> {
  const now = await databaseTime(tx.em);
  refuseRange(asked, now);
  const timetable = timetableOf(schedule);
  const total = countStrikes(timetable, { from: asked.from.getTime(), to: asked.to.getTime() });
  // The lower bound of the number of instants: only ranges that may fit are checked one by one.
  const least = total - (await countRunInstants(tx, schedule.id, asked));
  if (least > asked.maxRuns) throw tooMany(least, asked.maxRuns);
  if (total > maxInstants)
    throw invalid('/to', 'range', `must be close enough to from that the range has at most ${maxInstants} instants`, {
      limit: maxInstants,
    });

  const ran = await readRunInstants(tx, schedule.id, asked);
  const instants = strikesIn(timetable, asked).filter(({ at }) => !ran.has(at));
  const planned = instants.length;
  if (planned > asked.maxRuns) throw tooMany(planned, asked.maxRuns);
  const made = { planned, alreadyRun: total - planned, instants: instants.slice(0, instantsShown), createdAt: now };
  if (asked.isDryRun) return { id: null, ...made };

  await checkBudgets(tx, schedule.workspaceId);
  const id = newId();
  await insertBackfill(tx, schedule, { ...asked, ...made, id, at: now });
  return { id, ...made };
}

/** The instants of a range that count, both ends inclusive. */
function strikesIn(timetable: Timetable, { from, to }: Pick<AskedBackfill, 'from' | 'to'>): ScheduledInstant[] {
  // Of the instants at a repeated local time some are skipped but still count towards the limit.
  const strikes = strikesAfter(timetable, { after: from.getTime() - 1, until: to.getTime(), count: 2 * maxInstants });
  return strikes.filter(({ isSkipped }) => !isSkipped);
}

function refuseRange({ from, to }: AskedBackfill, now: Date): void {
  if (to < from) throw invalid('/to', 'range', 'must not be before from');
  if (to > now) throw invalid('/to', 'range', 'must not be in the future');
  if (to.getTime() - from.getTime() > maxRangeMs) throw invalid('/to', 'range', 'must be at most 366 days after from');
}

function tooMany(planned: number, maxRuns: number) {
  const message = `would start ${planned} runs`;
  return fail('validation_failed', {
    detail: `The backfill ${message}, which is more than max_runs (${maxRuns}).`,
    context: { planned },
    errors: [{ in: 'body', pointer: '/max_runs', name: null, rule: 'maximum', message, params: { planned, limit: maxRuns } }],
  });
}
