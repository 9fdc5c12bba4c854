import { Context } from '@temporalio/activity';
import { databaseTime } from '../../db/database-time.ts';
import { readSchedule, type ScheduleRow } from '../../db/triggers/schedules.ts';
import { markSynced, markUnsynced } from '../../domain/triggers/sync.ts';
import { dueInstant, fillInstant, fireUnchanged } from '../../domain/schedules/fire.ts';
import type { Temporal } from '../../temporal/client.ts';
import { removeTriggerSchedule, strikeSince, upsertTriggerSchedule } from '../../temporal/trigger-schedules.ts';
import { fail } from '../../workflows/contracts/failure.ts';
import type { OccurrenceInput, ScheduleInput, TriggerActivities } from '../../workflows/contracts/triggers/triggers.ts';
import type { ActivityDeps } from '../deps.ts';
import { toApplicationFailure } from '../support/failures.ts';
import { transactAsSystem, readAsSystem } from '../support/as-system.ts';
import { tenantOfActivity } from '../support/tenant.ts';
import { advance } from './backfill-step.ts';

const maxReadings = 5;
/** After this many failed tries, the schedule's `sync_state` reports it; Temporal goes on retrying. */
const triesBeforeError = 3;

/** The activities of schedules: all decide by the row and may be repeated on any worker. */
export function createTriggerActivities(deps: ActivityDeps, temporal: Temporal): TriggerActivities {
  return {
    async fireOccurrence(input) {
      for (let reading = 1; reading <= maxReadings; reading++) if (await fire(deps, input)) return;
      throw changing();
    },
    syncSchedule: (input) => sync(deps, temporal, input),
    async advanceBackfill(input) {
      for (let reading = 1; reading <= maxReadings; reading++) {
        const step = await advance(deps, input);
        if (step !== null) return step;
      }
      throw changing();
    },
  };
}

/** The row is being changed without pause; the next try finds it unchanged. */
function changing() {
  return toApplicationFailure(fail('service_unavailable', { reason: 'schedule_changing' }));
}

async function sync(deps: ActivityDeps, temporal: Temporal, { scheduleId }: ScheduleInput): Promise<boolean> {
  const schedule = await readAsSystem(deps, (tx) => readSchedule(tx, scheduleId));
  try {
    if (schedule === null || schedule.deletedAt !== null) await removeTriggerSchedule(temporal, scheduleId);
    else {
      const strikesFrom = await upsertTriggerSchedule(temporal, schedule, tenantOfActivity());
      await catchUp(temporal, schedule, strikesFrom);
    }
  } catch (error) {
    if (schedule !== null && Context.current().info.attempt >= triesBeforeError)
      await transactAsSystem(deps, (tx) => markUnsynced(tx, scheduleId, schedule.version));
    throw error;
  }
  return schedule === null || transactAsSystem(deps, (tx) => markSynced(tx, scheduleId, schedule.version));
}

/** Temporal fires no instant before it has the schedule: a request may have committed while the workers, or Temporal itself, were unavailable. */
async function catchUp(temporal: Temporal, schedule: ScheduleRow, strikesFrom: Date): Promise<void> {
  if (!schedule.isActive || schedule.nextRunAt === null || new Date(schedule.nextRunAt) > strikesFrom) return;
  const oldestMs = strikesFrom.getTime() - schedule.catchUpSeconds * 1_000;
  const from = new Date(Math.max(new Date(schedule.nextRunAt).getTime(), oldestMs) - 1_000);
  await strikeSince(temporal, schedule, { from, to: strikesFrom });
}

/** Returns false when the row changed between reading and locking: its templates may have changed. */
async function fire(deps: ActivityDeps, { scheduleId, nominalAt }: OccurrenceInput): Promise<boolean> {
  const schedule = await readAsSystem(deps, (tx) => readSchedule(tx, scheduleId));
  const due = dueInstant(schedule, new Date(nominalAt));
  if (due === null) return true;
  const now = await readAsSystem(deps, (tx) => databaseTime(tx.em));
  const { at, localTime } = due.strike;
  const templates = deps.templates.of(tenantOfActivity().organizationId);
  const filled = await fillInstant(templates, due.schedule, { at: new Date(at), localTime, now });
  return transactAsSystem(deps, (tx) => fireUnchanged(tx, due, { ...filled, currency: deps.env.billingCurrency }));
}
