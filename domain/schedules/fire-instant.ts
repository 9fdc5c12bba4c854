import { cancelRun } from '../runs/end/cancel-run.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';
import { claim, readLive, settle, type Instant, type Outcome, type RenderedStart, isLiveRun } from '../../db/triggers/occurrences.ts';
import { moveBehind } from '../../db/triggers/write-schedules.ts';
import type { Overlap } from '../../db/triggers/schedule.entity.ts';
import type { ScheduleRow } from '../../db/triggers/schedules.ts';
import { startOutcome } from './start-scheduled.ts';
import type { ScheduledInstant } from '../../ports/schedule/cadence.ts';

/** What is done with an instant that is due. */
export interface Firing {
  readonly instant: Instant;
  /** Null with the reason when the templates could not be filled. */
  readonly rendered: RenderedStart | null;
  readonly renderFault: string | null;
  readonly nextRunAt: Date | null;
  readonly currency: string;
  /** By the database's clock. */
  readonly now: Date;
  /** Absent: the schedule's own. */
  readonly overlap?: Overlap;
}

/** An instant as the evaluator gives it, as it is claimed. */
export function instantOf(strike: ScheduledInstant, kind: Instant['kind'], backfillId?: string): Instant {
  const { at, localTime, shiftedFrom, isSkipped } = strike;
  return { kind, nominalAt: new Date(at), localTime, shiftedFrom, isSkipped, ...(backfillId === undefined ? {} : { backfillId }) };
}

/** What came of an instant, and its row. */
export interface Fired {
  readonly occurrenceId: string;
  readonly outcome: Outcome;
}

/**
 * Claims one instant and does what the schedule's row says: starts a run, buffers it, or notes why not. The caller holds the row's lock. An
 * instant that was claimed before is left as it is: one run an instant, whoever repeats it. Null: it is none, or it was claimed.
 */
export async function fireInstant(tx: TenantTransaction, schedule: ScheduleRow, firing: Firing): Promise<Fired | null> {
  const { instant, now } = firing;
  if (instant.kind === 'regular' && isBefore(schedule, instant.nominalAt)) return null;
  const occurrenceId = await claim(tx, schedule, instant, firing.overlap ?? schedule.overlap);
  if (occurrenceId === null) return null;
  const outcome = await outcomeOf(tx, schedule, firing);
  await settle(tx, schedule, { occurrenceId, outcome, now });
  await moveOn(tx, schedule, firing);
  return { occurrenceId, outcome };
}

/** What was due before a schedule was made, resumed or given other times is not made up for. */
function isBefore({ fires_after: firesAfter }: ScheduleRow, nominalAt: Date): boolean {
  return firesAfter !== null && nominalAt.getTime() <= new Date(firesAfter).getTime();
}

async function outcomeOf(tx: TenantTransaction, schedule: ScheduleRow, firing: Firing): Promise<Outcome> {
  const { instant, now, overlap = schedule.overlap } = firing;
  if (instant.isSkipped) return { status: 'skipped_dst' };
  // Jitter is meant: it makes nothing late.
  const patienceMs = (schedule.catch_up_seconds + schedule.jitter_seconds) * 1_000;
  if (instant.kind === 'regular' && now.getTime() > instant.nominalAt.getTime() + patienceMs) return { status: 'missed', reason: 'late' };

  const live = await readLive(tx, schedule.id);
  if (overlap === 'allow_all' || live.started.length === 0) return startOutcome(tx, schedule, firing);
  if (overlap === 'skip') return { status: 'skipped_overlap' };
  if (firing.rendered === null) return { status: 'failed', reason: firing.renderFault ?? 'template' };
  if (overlap === 'buffer_one')
    return live.buffered === null
      ? { status: 'buffered', rendered: firing.rendered }
      : { status: 'skipped_overlap', reason: 'buffer_full' };

  if (live.buffered !== null)
    await settle(tx, schedule, { occurrenceId: live.buffered, outcome: { status: 'skipped_overlap', reason: 'replaced' }, now });
  for (const { run_id: runId } of live.started) if (runId !== null) await cancelLive(tx, runId);
  // A run that was still in line has ended in this transaction, and took nothing with it.
  const left = await readLive(tx, schedule.id);
  return left.started.length === 0 ? startOutcome(tx, schedule, firing) : { status: 'buffered', rendered: firing.rendered };
}

async function cancelLive(tx: TenantTransaction, runId: string): Promise<void> {
  if (await isLiveRun(tx, runId)) await cancelRun(tx, { runId, policy: 'interrupt', reason: 'schedule_overlap' });
}

/** What has been looked at is never looked at again: by evaluation, whatever came of it. An instant that comes behind a later one moves nothing. */
async function moveOn(tx: TenantTransaction, schedule: ScheduleRow, { instant, nextRunAt }: Firing): Promise<void> {
  if (instant.kind === 'regular') await moveBehind(tx, schedule.id, { nominalAt: instant.nominalAt, nextRunAt });
}
