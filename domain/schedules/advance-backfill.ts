import { databaseTime } from '../../db/database-time.ts';
import { hasLiveBackfillRun, lockBackfill, readRunInstants, type BackfillRow } from '../../db/schedules/backfill-queries.ts';
import { endBackfill, moveBackfill } from '../../db/schedules/backfills.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';
import { fireInstant, instantOf } from './fire-instant.ts';
import { lockSchedule, type ScheduleRow } from '../../db/triggers/schedules.ts';
import { strikesAfter, type ScheduledInstant } from '../../ports/schedule/cadence.ts';
import { timetableOf } from '../../ports/schedule/plan.ts';
import type { BackfillStep } from '../../workflows/contracts/triggers/triggers.ts';
import type { Filled } from './fire.ts';

/** The next instants of a backfill. */
export interface NextInstants {
  readonly strikes: readonly ScheduledInstant[];
  /** No other instant up to here is to be started. */
  readonly reached: Date;
  readonly isLast: boolean;
}

/** Instants whose templates are filled for one step. */
export interface FilledInstants extends NextInstants {
  readonly filled: ReadonlyMap<number, Filled>;
}

/** The most starts per second with `allow_all`. */
const startsASecond = 10;
const instantsAStep = 500;
const sequentialWaitMs = 60_000;

/** Whether a backfill still starts anything. */
export function isOpen({ status }: BackfillRow): boolean {
  return status === 'queued' || status === 'running';
}

/** The next instants of a backfill: one for a sequential backfill, else as many as may start in a second. */
export async function nextInstants(tx: Pick<TenantTransaction, 'em'>, schedule: ScheduleRow, backfill: BackfillRow): Promise<NextInstants> {
  const [after, to] = [new Date(backfill.reached), new Date(backfill.rangeTo)];
  const ahead = strikesAfter(timetableOf(schedule), { after: after.getTime(), until: to.getTime(), count: instantsAStep });
  const ran = await readRunInstants(tx, schedule.id, { from: after, to: new Date(ahead.at(-1)?.at ?? to) });
  const due = ahead.filter(({ at, isSkipped }) => !isSkipped && !ran.has(at));
  const strikes = due.slice(0, backfill.overlap === 'sequential' ? 1 : startsASecond);
  const isLast = ahead.length < instantsAStep && strikes.length === due.length;
  const last = isLast ? to.getTime() : (strikes.length < due.length ? strikes : ahead).at(-1)?.at;
  return { strikes, reached: new Date(last ?? to), isLast };
}

/**
 * Starts the filled instants of one step of a backfill, in one transaction. Returns null when schedule or backfill have changed since they were read: nothing
 * was done then. A sequential backfill starts nothing while a run of any backfill of the schedule is live.
 */
export async function startInstants(
  tx: TenantTransaction,
  read: { readonly schedule: ScheduleRow; readonly backfill: BackfillRow },
  step: FilledInstants & { readonly currency: string },
): Promise<BackfillStep | null> {
  const schedule = await lockSchedule(tx, read.schedule.id);
  const backfill = await lockBackfill(tx, read.backfill.id);
  if (schedule === null || backfill === null || !isOpen(backfill)) return { state: 'ended' };
  const isUnchanged = schedule.version === read.schedule.version && isSame(backfill.reached, read.backfill.reached);
  if (!isUnchanged) return null;
  const now = await databaseTime(tx.em);
  const isSequential = backfill.overlap === 'sequential';
  if (isSequential && step.strikes.length > 0 && (await hasLiveBackfillRun(tx, schedule.id))) return waiting(sequentialWaitMs, true);

  const counts = { started: 0, failed: 0 };
  for (const strike of step.strikes) {
    const status = await startOne(tx, schedule, { strike, step, backfillId: backfill.id, now });
    if (status === 'started') counts.started += 1;
    else if (status === 'failed') counts.failed += 1;
  }
  await moveBackfill(tx, backfill.id, { reached: step.reached, ...counts });
  if (step.isLast) await endBackfill(tx, backfill.id, { status: 'done', now });
  if (step.isLast) return { state: 'ended' };
  if (!isSequential) return waiting(1_000, false);
  return waiting(counts.started > 0 ? sequentialWaitMs : 1, true);
}

async function startOne(
  tx: TenantTransaction,
  schedule: ScheduleRow,
  one: {
    readonly strike: ScheduledInstant;
    readonly step: FilledInstants & { readonly currency: string };
    readonly backfillId: string;
    readonly now: Date;
  },
): Promise<string | null> {
  const { strike, step, backfillId, now } = one;
  const { rendered, renderFault } = step.filled.get(strike.at) ?? { rendered: null, renderFault: 'template' };
  const fired = await fireInstant(tx, schedule, {
    instant: instantOf(strike, 'backfill', backfillId),
    ...{ rendered, renderFault, now, nextRunAt: null, currency: step.currency },
    // Sequential or not, it runs beside what the clock starts.
    overlap: 'allow_all',
  });
  return fired?.outcome.status ?? null;
}

function waiting(waitMs: number, isEager: boolean): BackfillStep {
  return { state: 'waiting', waitMs, isEager };
}

function isSame(left: Date | string, right: Date | string): boolean {
  return new Date(left).getTime() === new Date(right).getTime();
}
