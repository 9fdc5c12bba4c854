import { fireInstant, type Firing } from '../../db/triggers/fire-instant.ts';
import { lockSchedule, markSynced, readSchedule, type ScheduleRow } from '../../db/triggers/schedules.ts';
import type { RenderedStart } from '../../db/triggers/start-scheduled.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';
import { strikeAt, type Strike } from '../../ports/cadence.ts';
import { nextAfter, timetableOf } from '../../ports/schedule-plan.ts';
import { renderTexts } from '../../ports/schedule-texts.ts';
import { TemplateError } from '../../ports/templates.ts';
import type { Temporal } from '../../temporal/client.ts';
import { removeTriggerSchedule, upsertTriggerSchedule } from '../../temporal/trigger-schedules.ts';
import { fail } from '../../workflows/contracts/failure.ts';
import type { OccurrenceInput, TriggerActivities } from '../../workflows/contracts/triggers.ts';
import type { ActivityDeps } from '../deps.ts';
import { toApplicationFailure } from '../support/failures.ts';
import { transactAsSystem, readAsSystem } from '../support/as-system.ts';
import { tenantOfActivity } from '../support/tenant.ts';

const maxReadings = 5;

/** The activities of schedules: both are judged by the row and may be repeated anywhere. */
export function createTriggerActivities(deps: ActivityDeps, temporal: Temporal): TriggerActivities {
  return {
    async fireOccurrence(input) {
      for (let reading = 1; reading <= maxReadings; reading++) if (await fire(deps, input)) return;
      // Somebody changes it without pause; the next try finds it at rest.
      throw toApplicationFailure(fail('service_unavailable', { reason: 'schedule_changing' }));
    },
    async syncSchedule({ scheduleId }) {
      const schedule = await readAsSystem(deps, (tx) => readSchedule(tx, scheduleId));
      if (schedule === null || schedule.deleted_at !== null) await removeTriggerSchedule(temporal, scheduleId);
      else await upsertTriggerSchedule(temporal, schedule, tenantOfActivity());
      return schedule === null || transactAsSystem(deps, (tx) => markSynced(tx, scheduleId, schedule.version));
    },
  };
}

/** False when the row changed between reading and locking: its templates may be others now. */
async function fire(deps: ActivityDeps, { scheduleId, nominalAt }: OccurrenceInput): Promise<boolean> {
  const schedule = await readAsSystem(deps, (tx) => readSchedule(tx, scheduleId));
  if (!isFiring(schedule)) return true;
  const timetable = timetableOf(schedule);
  const nominal = new Date(nominalAt);
  const strike = strikeAt(timetable, nominal.getTime());
  // Temporal strikes at more instants than the evaluator gives: what it does not give is not ours.
  if (strike === null) return true;

  const filled = await fill(deps, schedule, strike);
  const firing: Firing = {
    ...filled,
    instant: {
      kind: 'regular',
      nominalAt: nominal,
      localTime: strike.localTime,
      shiftedFrom: strike.shiftedFrom,
      isSkipped: strike.isSkipped,
    },
    nextRunAt: nextAfter(timetable, nominal),
    currency: deps.env.billingCurrency,
    now: new Date(),
  };
  return transactAsSystem(deps, (tx) => fireUnchanged(tx, schedule, firing));
}

async function fireUnchanged(tx: TenantTransaction, read: ScheduleRow, firing: Firing): Promise<boolean> {
  const locked = await lockSchedule(tx, read.id);
  if (locked?.version !== read.version) return false;
  if (isFiring(locked)) await fireInstant(tx, locked, firing);
  return true;
}

/** A pause drops what it meets; it queues nothing. */
function isFiring(schedule: ScheduleRow | null): schedule is ScheduleRow {
  return schedule !== null && schedule.deleted_at === null && schedule.is_active;
}

async function fill(
  deps: ActivityDeps,
  schedule: ScheduleRow,
  strike: Strike,
): Promise<{ readonly rendered: RenderedStart | null; readonly renderFault: string | null }> {
  const texts = {
    prompt: schedule.prompt_template,
    input: schedule.input_template,
    sessionKey: schedule.session_key_template,
    personaSlug: schedule.persona_slug_template,
    subject: schedule.subject_template,
  };
  const variables = {
    schedule: { id: schedule.id, name: schedule.name, nominal_at: new Date(strike.at).toISOString(), local_time: strike.localTime },
    now: new Date().toISOString(),
  };
  const templates = deps.templates.of(tenantOfActivity().organizationId);
  try {
    return { rendered: await renderTexts(templates, texts, { prefix: `schedule:${schedule.id}`, variables }), renderFault: null };
  } catch (error) {
    if (!(error instanceof TemplateError)) throw error;
    return { rendered: null, renderFault: 'template' };
  }
}
