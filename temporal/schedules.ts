import { ScheduleAlreadyRunning, ScheduleOverlapPolicy, type ScheduleOptions, type ScheduleOptionsAction } from '@temporalio/client';
import { taskQueues, workflowIds, type TaskQueue } from '../workflows/contracts/queues.ts';
import type { Temporal } from './client.ts';

/** A maintenance workflow and how often it runs. A tick is skipped while the previous execution is still at work. */
interface Maintenance {
  readonly name: string;
  readonly workflowType: string;
  readonly taskQueue: TaskQueue;
  readonly everyS: number;
}

/** Every schedule of the deployment itself. A new sweep needs one line here and one workflow. */
const schedules: readonly Maintenance[] = [
  { name: 'reconcile', workflowType: 'reconcile', taskQueue: taskQueues.runs, everyS: 20 },
  { name: 'budget-holds', workflowType: 'budgetHolds', taskQueue: taskQueues.runs, everyS: 30 },
  { name: 'alert-tick', workflowType: 'alertTick', taskQueue: taskQueues.runs, everyS: 60 },
  { name: 'alert-sweep', workflowType: 'alertSweep', taskQueue: taskQueues.bulk, everyS: 86_400 },
  { name: 'http-sweep', workflowType: 'httpSweep', taskQueue: taskQueues.bulk, everyS: 3600 },
  { name: 'frames', workflowType: 'tendArchives', taskQueue: taskQueues.bulk, everyS: 3600 },
  { name: 'audit-seal', workflowType: 'auditSeal', taskQueue: taskQueues.bulk, everyS: 60 },
  { name: 'attachments', workflowType: 'attachmentSweep', taskQueue: taskQueues.bulk, everyS: 3600 },
  { name: 'retention', workflowType: 'retention', taskQueue: taskQueues.bulk, everyS: 86_400 },
  { name: 'identity-sweep', workflowType: 'identitySweep', taskQueue: taskQueues.bulk, everyS: 3600 },
  { name: 'toolkit-syncs', workflowType: 'toolkitSyncs', taskQueue: taskQueues.runs, everyS: 60 },
  { name: 'ws-purge', workflowType: 'wsPurge', taskQueue: taskQueues.bulk, everyS: 86_400 },
  { name: 'triggers', workflowType: 'tendTriggers', taskQueue: taskQueues.bulk, everyS: 600 },
  { name: 'reembeds', workflowType: 'tendReembeds', taskQueue: taskQueues.bulk, everyS: 300 },
  { name: 'knowledge', workflowType: 'knowledgeUpkeep', taskQueue: taskQueues.bulk, everyS: 86_400 },
  { name: 'github-redeliver', workflowType: 'githubRedeliver', taskQueue: taskQueues.bulk, everyS: 3600 },
  { name: 'review-sweep', workflowType: 'reviewSweep', taskQueue: taskQueues.bulk, everyS: 86_400 },
  { name: 'signing-keys', workflowType: 'signingKeys', taskQueue: taskQueues.bulk, everyS: 86_400 },
];

export const scheduleIds: readonly string[] = schedules.map((schedule) => workflowIds.maintenance(schedule.name));

/** Creates missing schedules; leaves existing ones as they are. Idempotent. */
export async function ensureSchedules({ client }: Temporal): Promise<void> {
  // Asking whether a schedule exists would be a query to it, of which few may be under way: a refused creation costs less.
  await Promise.all(
    schedules.map((schedule) =>
      client.schedule.create(optionsOf(schedule)).catch((error: unknown) => {
        if (!(error instanceof ScheduleAlreadyRunning)) throw error;
      }),
    ),
  );
}

/** Updates the schedules to this release; one that an operator paused stays paused. Idempotent. */
export async function updateSchedules({ client }: Temporal): Promise<void> {
  for (const schedule of schedules) {
    const { scheduleId, spec, action, policies } = optionsOf(schedule);

    await client.schedule.getHandle(scheduleId).update(({ state }) => ({ spec, action, policies, state }));
  }
}

function optionsOf(schedule: Maintenance): ScheduleOptions<ScheduleOptionsAction> {
  const id = workflowIds.maintenance(schedule.name);

  return {
    scheduleId: id,
    spec: { intervals: [{ every: schedule.everyS * 1000 }] },
    action: { type: 'startWorkflow', workflowType: schedule.workflowType, workflowId: id, taskQueue: schedule.taskQueue, args: [] },
    // Ticks skipped during an outage are not made up for: each tick works on what it finds.
    policies: { overlap: ScheduleOverlapPolicy.SKIP, catchupWindow: Math.max(10_000, schedule.everyS * 1000) },
  };
}
