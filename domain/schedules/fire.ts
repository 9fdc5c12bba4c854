import { databaseTime } from '../../db/database-time.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';
import { fireInstant, type Firing, instantOf } from './fire-instant.ts';
import { nextManualInstant } from '../../db/triggers/occurrences.ts';
import type { Overlap } from '../../db/triggers/schedule.entity.ts';
import { lockSchedule, readSchedule, type ScheduleRow } from '../../db/triggers/schedules.ts';
import { strikeAt, type ScheduledInstant } from '../../ports/schedule/cadence.ts';
import { nextAfter, timetableOf } from '../../ports/schedule/plan.ts';
import { fillSchedule } from '../../ports/schedule/texts.ts';
import { TemplateError, type Templates } from '../../ports/templates/templates.ts';
import { localText } from '../../ports/schedule/wall-time.ts';
import { fail, type Failure } from '../../workflows/contracts/failure.ts';

/** The templates of a schedule, filled for one instant; null with the reason when they can't be. */
export type Filled = Pick<Firing, 'rendered' | 'renderFault'>;

/** The facts needed to fire an instant, read outside of a transaction. */
export interface DueInstant {
  readonly schedule: ScheduleRow;
  readonly strike: ScheduledInstant;
}

/** Whether a schedule fires by itself. A pause drops the instants that it covers; it queues nothing. */
function isFiring(schedule: ScheduleRow | null): schedule is ScheduleRow {
  return schedule !== null && schedule.deletedAt === null && schedule.isActive;
}

/** The instant of a schedule at which Temporal has fired; null when it is none: Temporal fires at more instants than the evaluator returns. */
export function dueInstant(schedule: ScheduleRow | null, nominalAt: Date): DueInstant | null {
  if (!isFiring(schedule)) return null;
  const strike = strikeAt(timetableOf(schedule), nominalAt.getTime());
  return strike && { schedule, strike };
}

/** Fills the templates of a schedule for an instant. A template error becomes a reason instead of being thrown. */
export async function fillInstant(
  templates: Templates,
  schedule: ScheduleRow,
  seen: { readonly at: Date; readonly localTime: string; readonly now: Date },
): Promise<Filled> {
  try {
    return { rendered: await fillSchedule(templates, schedule, seen), renderFault: null };
  } catch (error) {
    if (!(error instanceof TemplateError)) throw error;
    return { rendered: null, renderFault: 'template' };
  }
}

/**
 * Fires an instant whose templates were filled by the version of the row that was read. Returns false when the row has changed since: nothing was done then.
 * The database's clock decides whether the instant is late.
 */
export async function fireUnchanged(
  tx: TenantTransaction,
  { schedule, strike }: DueInstant,
  filled: Filled & { readonly currency: string },
): Promise<boolean> {
  const locked = await lockSchedule(tx, schedule.id);
  if (locked?.version !== schedule.version) return false;
  if (!isFiring(locked)) return true;
  const nominalAt = new Date(strike.at);
  await fireInstant(tx, locked, {
    ...filled,
    instant: instantOf(strike, 'regular'),
    nextRunAt: nextAfter(timetableOf(locked), nominalAt),
    now: await databaseTime(tx.em),
  });
  return true;
}

/** A trigger by a person, independent of the clock. */
export interface ManualTrigger {
  readonly scheduleId: string;
  /** Null: the schedule's own. */
  readonly overlap: Overlap | null;
  readonly currency: string;
}

const maxReadings = 5;

/**
 * Fires a schedule now, even while it is paused; returns the id of the occurrence. A refused start is thrown and leaves nothing: 402, 409 `agent_unusable`,
 * `subject_unknown`, `agent_inactive`, 422 `template_limit`, 429.
 */
export async function triggerNow(tx: TenantTransaction, templates: Templates, trigger: ManualTrigger): Promise<string> {
  for (let reading = 1; reading <= maxReadings; reading++) {
    const schedule = await readSchedule(tx, trigger.scheduleId);
    if (schedule === null || schedule.deletedAt !== null) throw fail('not_found');
    const at = await databaseTime(tx.em);
    const filled = await fillInstant(templates, schedule, { at, localTime: localText(schedule.timezone, at.getTime()), now: at });
    if (filled.rendered === null)
      throw fail('validation_failed', { reason: 'template_limit', detail: 'The templates of the schedule cannot be rendered.' });
    const locked = await lockSchedule(tx, schedule.id);
    if (locked?.version === schedule.version) return fireNow(tx, locked, { ...trigger, filled, at });
  }
  // The schedule is being changed continuously.
  throw fail('service_unavailable', { reason: 'schedule_changing', retryAfterS: 1 });
}

async function fireNow(
  tx: TenantTransaction,
  schedule: ScheduleRow,
  { filled, at, overlap, currency }: ManualTrigger & { readonly filled: Filled; readonly at: Date },
): Promise<string> {
  const nominalAt = await nextManualInstant(tx, schedule.id, at);
  const localTime = localText(schedule.timezone, nominalAt.getTime());
  const fired = await fireInstant(tx, schedule, {
    ...filled,
    instant: { kind: 'manual', nominalAt, localTime, shiftedFrom: null, isSkipped: false },
    nextRunAt: null,
    currency,
    now: nominalAt,
    ...(overlap === null ? {} : { overlap }),
  });
  if (fired === null) throw new Error('an instant that was free is taken');
  if (fired.outcome.failure) throw forCaller(fired.outcome.failure);
  return fired.occurrenceId;
}

/** Converts a refusal into terms of the request, which has none of the fields at which a start's failure would point. */
function forCaller(failure: Failure): Failure {
  if (failure.code !== 'validation_failed' && failure.code !== 'not_found') return failure;
  return fail('state_conflict', {
    reason: 'agent_unusable',
    detail: 'The agent of the schedule cannot be started with the rendered input.',
  });
}
