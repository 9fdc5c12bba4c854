import { taskQueues, workflowIds } from '../../workflows/contracts/queues.ts';
import { backfillRunEnded } from '../../workflows/contracts/triggers/triggers.ts';
import { addOutbox } from '../outbox.ts';
import { query } from '../query.ts';
import { rows } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';

/** A schedule and its tenant. */
export interface SchedulePlace {
  readonly id: string;
  readonly organizationId: string;
  readonly workspaceId: string;
}

/** Wakes the open backfills of a schedule after the commit, once per occasion. */
export async function wakeBackfills(tx: TenantTransaction, schedule: SchedulePlace, occasion: string): Promise<void> {
  const open = await rows(
    tx.em,
    query.selectFrom('schedule_backfills').where('scheduleId', '=', schedule.id).where('status', 'in', ['queued', 'running']).select('id'),
  );
  for (const { id } of open) await wakeBackfill(tx, schedule, { backfillId: id, occasion });
}

/** Starts or wakes the workflow of a backfill after the commit, once per occasion. */
export async function wakeBackfill(
  tx: TenantTransaction,
  schedule: SchedulePlace,
  { backfillId, occasion }: { readonly backfillId: string; readonly occasion: string },
): Promise<void> {
  const workflowId = workflowIds.backfill(backfillId);
  await addOutbox(
    tx,
    {
      kind: 'workflow.start',
      workflowType: 'backfillSchedule',
      workflowId,
      taskQueue: taskQueues.bulk,
      args: [{ backfillId }],
      organizationId: schedule.organizationId,
      workspaceId: schedule.workspaceId,
      correlationId: tx.correlationId,
      reuse: 'allow_duplicate',
      signal: backfillRunEnded,
      priority: 5,
      searchAttributes: { SourceId: schedule.id },
    },
    { dedupeKey: `${workflowId}:${occasion}` },
  );
}
