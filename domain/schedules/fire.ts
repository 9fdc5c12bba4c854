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

/** What is needed to fire an instant outside of a transaction. */
export interface DueInstant {
  readonly schedule: ScheduleRow;
  readonly strike: ScheduledInstant;
}

/** Whether a schedule fires by itself. A pause drops what it meets; it queues nothing. */
function isFiring(schedule: ScheduleRow | null): schedule is ScheduleRow {
  return schedule !== null && schedule.deleted_at === null && schedule.is_active;
}

/** The instant of a schedule that Temporal strikes at; null when it is none: Temporal strikes at more of them than the evaluator gives. */
export function dueInstant(schedule: ScheduleRow | null, nominalAt: Date): DueInstant | null {
  if (!isFiring(schedule)) return null;
  const strike = strikeAt(timetableOf(schedule), nominalAt.getTime());
  return strike && { schedule, strike };
}

/** Fills the templates of a schedule for an instant. What they can't do is a reason, and no error. */
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
 * Fires an instant whose templates were filled by a version of the row that is read: false when the row has changed since, and nothing was done. Whether it is late says
 * the database's clock.
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

/** What a person asks for beside the clock. */
export interface ManualTrigger {
  readonly scheduleId: string;
  /** Null: the schedule's own. */
  readonly overlap: Overlap | null;
  readonly currency: string;
}

const maxReadings = 5;

/**
 * Fires a schedule now, also while it is paused; gives the id of the occurrence. A start that is refused is thrown and leaves nothing: 402, 409 `agent_unusable`,
 * `subject_unknown`, `agent_inactive`, 422 `template_limit`, 429.
 */
export async function triggerNow(tx: TenantTransaction, templates: Templates, trigger: ManualTrigger): Promise<string> {
  for (let reading = 1; reading <= maxReadings; reading++) {
    const schedule = await readSchedule(tx, trigger.scheduleId);
    if (schedule === null || schedule.deleted_at !== null) throw fail('not_found');
    const at = await databaseTime(tx.em);
    const filled = await fillInstant(templates, schedule, { at, localTime: localText(schedule.timezone, at.getTime()), now: at });
    if (filled.rendered === null)
      throw fail('validation_failed', { reason: 'template_limit', detail: 'The templates of the schedule cannot be rendered.' });
    const locked = await lockSchedule(tx, schedule.id);
    if (locked?.version === schedule.version) return fireNow(tx, locked, { ...trigger, filled, at });
  }
  // Somebody changes it without pause.
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

/** A refusal in terms of the request: it has none of the fields that a start would point at. */
function forCaller(failure: Failure): Failure {
  if (failure.code !== 'validation_failed' && failure.code !== 'not_found') return failure;
  return fail('state_conflict', {
    reason: 'agent_unusable',
    detail: 'The agent of the schedule cannot be started with the rendered input.',
  });
}
