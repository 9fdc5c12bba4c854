import { cancellationSignal } from '@temporalio/activity';
import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { databaseTime } from '../../db/database-time.ts';
import { newId } from '../../db/ids.ts';
import { sweep, systemActor, workspaceTenant } from '../../db/transaction.ts';
import { lockSchedule, type ScheduleRow } from '../../db/triggers/schedules.ts';
import { overdueSchedules, schedulesToCompile, syncedSchedules, unsyncedSchedules, type DueSchedule } from '../../db/triggers/upkeep.ts';
import { schedulesWithOpenBackfills } from '../../db/schedules/backfill-queries.ts';
import { wakeBackfills } from '../../db/schedules/wake-backfills.ts';
import { overdueGroups } from '../../db/webhooks/upkeep.ts';
import { recordOverdue } from '../../domain/schedules/missed.ts';
import { storeCompiled, syncAgain } from '../../domain/triggers/sync.ts';
import { restartLostFanOuts } from '../../domain/events/fan-out.ts';
import { findLostReplies, wakeLostReply } from '../../domain/channels/state.ts';
import { restartLostCallbacks } from '../../domain/webhooks/callbacks.ts';
import { wakeOverdue } from '../../domain/webhooks/groups.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';
import { compileTimetable } from '../../ports/schedule/compile-cadence.ts';
import { timetableOf } from '../../ports/schedule/plan.ts';
import type { Temporal } from '../../temporal/client.ts';
import type { MaintenanceActivities } from '../../workflows/contracts/upkeep/maintenance.ts';
import { workflowIds } from '../../workflows/contracts/queues.ts';
import type { ActivityDeps } from '../deps.ts';
import { transactAndSend } from '../support/as-system.ts';

const maxATick = 200;

type Upkeep = (tx: TenantTransaction, schedule: ScheduleRow) => Promise<void>;

/**
 * Repairs schedules: versions that never reached Temporal, schedules that Temporal has lost, instants that were never fired, clock changes that have come
 * nearer.
 */
export function createTriggerUpkeep(deps: ActivityDeps, temporal: Temporal): Pick<MaintenanceActivities, 'tendTriggers'> {
  return {
    async tendTriggers() {
      const there = await scheduleIdsOf(temporal);
      const isLost = ({ id }: DueSchedule): boolean => !there.has(workflowIds.trigger(id));
      const lost = await each(deps, async (em) => (await syncedSchedules(em)).filter(isLost).slice(0, maxATick), syncAgain);
      const unsynced = await each(deps, unsyncedSchedules, async (tx, schedule) => {
        if (schedule.syncedVersion < schedule.version) await syncAgain(tx, schedule);
      });
      const overdue = await each(deps, overdueSchedules, recordOverdue);
      const compiled = await each(deps, schedulesToCompile, async (tx, schedule) =>
        storeCompiled(tx, schedule, compileTimetable(timetableOf(schedule), (await databaseTime(tx.em)).getTime())),
      );
      const backfills = await each(deps, schedulesWithOpenBackfills, (tx, schedule) => wakeBackfills(tx, schedule, `upkeep:${newId()}`));
      return lost + unsynced + overdue + compiled + backfills + (await tendHooks(deps));
    },
  };
}

/** Restarts callbacks and fan-outs of events whose workflow was lost. */
async function tendHooks(deps: ActivityDeps): Promise<number> {
  const restarted = (await sweep(deps.db, restartLostCallbacks)) + (await sweep(deps.db, restartLostFanOuts));
  return restarted + (await tendChannels(deps));
}

/** Wakes groups whose signal was lost, or was sent before they existed. */
export async function wakeOverdueGroups(deps: Pick<ActivityDeps, 'db' | 'dispatch'>): Promise<void> {
  const groups = await sweep(deps.db, async (em) => [
    ...(await overdueGroups(em, 'webhook_deliveries', maxATick)),
    ...(await overdueGroups(em, 'event_matches', maxATick)),
  ]);
  for (const group of groups) {
    cancellationSignal().throwIfAborted();
    const tenant = workspaceTenant(group.organizationId, group.workspaceId);
    await transactAndSend(deps, { tenant, actor: systemActor, correlationId: newId() }, (tx) => wakeOverdue(tx, group));
  }
}

/** Wakes answers whose workflow was lost. */
async function tendChannels(deps: ActivityDeps): Promise<number> {
  const replies = await sweep(deps.db, (em) => findLostReplies(em, maxATick));
  for (const reply of replies) {
    cancellationSignal().throwIfAborted();
    const tenant = workspaceTenant(reply.organizationId, reply.workspaceId);
    await transactAndSend(deps, { tenant, actor: systemActor, correlationId: newId() }, (tx) => wakeLostReply(tx, reply));
  }
  return replies.length;
}

/** Visibility may omit some: sending an existing one again changes nothing. */
async function scheduleIdsOf({ client }: Temporal): Promise<ReadonlySet<string>> {
  const ids = new Set<string>();
  for await (const { scheduleId } of client.schedule.list()) ids.add(scheduleId);
  return ids;
}

async function each(
  deps: ActivityDeps,
  find: (em: SqlEntityManager, limit: number) => Promise<DueSchedule[]>,
  work: Upkeep,
): Promise<number> {
  const due = await sweep(deps.db, (em) => find(em, maxATick));
  for (const schedule of due) {
    cancellationSignal().throwIfAborted();
    await inPlaceOf(deps, schedule, work).catch((err: unknown) => deps.log.error({ err, schedule_id: schedule.id }, 'schedule not tended'));
  }
  return due.length;
}

async function inPlaceOf(deps: ActivityDeps, due: DueSchedule, work: Upkeep): Promise<void> {
  const tenant = workspaceTenant(due.organizationId, due.workspaceId);
  await transactAndSend(deps, { tenant, actor: systemActor, correlationId: newId() }, async (tx) => {
    const schedule = await lockSchedule(tx, due.id);
    if (schedule) await work(tx, schedule);
  });
}
