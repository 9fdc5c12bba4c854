import { cancelRun } from '../runs/end/cancel-run.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';
import { claim, type Instant } from '../../db/triggers/claim-occurrence.ts';
import { isLiveRun, readLive, settle, type Outcome } from '../../db/triggers/occurrences.ts';
import type { RenderedStart } from '../../db/triggers/schedule-occurrence.entity.ts';
import { moveBehind } from '../../db/triggers/write-schedules.ts';
import type { Overlap } from '../../db/triggers/schedule.entity.ts';
import type { ScheduleRow } from '../../db/triggers/schedules.ts';
import { pauseSchedulesOfAgent } from '../triggers/pause.ts';
import { startOutcome } from './start-scheduled.ts';
import type { ScheduledInstant } from '../../ports/schedule/cadence.ts';

/** How to fire an instant that is due. */
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

/** Converts an instant from the evaluator into the form in which it is claimed. */
export function instantOf(strike: ScheduledInstant, kind: Instant['kind'], backfillId?: string): Instant {
  const { at, localTime, shiftedFrom, isSkipped } = strike;
  return { kind, nominalAt: new Date(at), localTime, shiftedFrom, isSkipped, ...(backfillId === undefined ? {} : { backfillId }) };
}

/** The outcome of an instant, and its row. */
export interface Fired {
  readonly occurrenceId: string;
  readonly outcome: Outcome;
}

/**
 * Claims one instant and does what the schedule's row says: starts a run, buffers it, or records why not. The caller has locked the row. An instant that was
 * claimed before is left as it is: one run per instant, whoever repeats it. Returns null when there is no such instant, or it was claimed before.
 */
export async function fireInstant(tx: TenantTransaction, schedule: ScheduleRow, firing: Firing): Promise<Fired | null> {
  const { instant, now } = firing;
  if (instant.kind === 'regular' && isBefore(schedule, instant.nominalAt)) return null;
  const occurrenceId = await claim(tx, schedule, instant, firing.overlap ?? schedule.overlap);
  if (occurrenceId === null) return null;
  const outcome = await outcomeOf(tx, schedule, firing);
  await settle(tx, schedule, { occurrenceId, outcome, now });
  await moveOn(tx, schedule, firing);
  // Deleted at the moment in which the schedule was created or resumed, an agent leaves a schedule that nothing has paused.
  if (outcome.status === 'failed' && outcome.failure?.errors.some(({ pointer }) => pointer === '/agent_id'))
    await pauseSchedulesOfAgent(tx, schedule.agentId);
  return { occurrenceId, outcome };
}

/** Instants that were due before a schedule was created, resumed or given other times are not caught up. */
function isBefore({ firesAfter }: ScheduleRow, nominalAt: Date): boolean {
  return firesAfter !== null && nominalAt.getTime() <= new Date(firesAfter).getTime();
}

async function outcomeOf(tx: TenantTransaction, schedule: ScheduleRow, firing: Firing): Promise<Outcome> {
  const { instant, now, overlap = schedule.overlap } = firing;
  if (instant.isSkipped) return { status: 'skipped_dst' };
  // Jitter is intended, so it makes nothing late.
  const patienceMs = (schedule.catchUpSeconds + schedule.jitterSeconds) * 1_000;
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
  for (const { runId } of live.started) if (runId !== null) await cancelLive(tx, runId);
  // A run that was still queued has ended in this transaction, and took nothing with it.
  const left = await readLive(tx, schedule.id);
  return left.started.length === 0 ? startOutcome(tx, schedule, firing) : { status: 'buffered', rendered: firing.rendered };
}

async function cancelLive(tx: TenantTransaction, runId: string): Promise<void> {
  if (await isLiveRun(tx, runId)) await cancelRun(tx, { runId, policy: 'interrupt', reason: 'schedule_overlap' });
}

/**
 * Moves the watermark past the instant, so that evaluation never considers it again, whatever its outcome. An instant that arrives after a later one moves
 * nothing.
 */
async function moveOn(tx: TenantTransaction, schedule: ScheduleRow, { instant, nextRunAt }: Firing): Promise<void> {
  if (instant.kind === 'regular') await moveBehind(tx, schedule.id, { nominalAt: instant.nominalAt, nextRunAt });
}
