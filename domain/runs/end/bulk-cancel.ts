import type { RunStatus } from '../../../workflows/contracts/runs/runs.ts';
import { isTerminal } from '../../../workflows/contracts/runs/runs.ts';
import { taskQueues, workflowIds } from '../../../workflows/contracts/queues.ts';
import { newId } from '../../../db/ids.ts';
import { addOutboxAll } from '../../../db/outbox.ts';
import type { Changing, Scoped } from '../../../db/scope.ts';
import type { TenantTransaction } from '../../../db/tenant-transaction.ts';
import { lockForCancel, type Cancel } from './cancel-locked.ts';
import { cancelAndClose } from './cancel-run.ts';
import {
  type CancelFilter,
  type RunAddress,
  type OpenBulkCancel,
  workspacesOfMatches,
  matchesOf,
} from '../../../db/runs/end/cancellable-runs.ts';
import { insertBulkCancels, countCancelled } from '../../../db/runs/end/bulk-cancels.ts';

/** Counts of one bulk cancel, by the run's state when it was locked. */
export interface CancelCounts {
  /** Ended here: they had not begun. */
  readonly cancelled: number;
  /** Asked to end, now or before. */
  readonly cancelling: number;
  readonly alreadyFinished: number;
  /** Had no row when they were to be locked. */
  readonly gone: number;
}

/** Cancels these runs and their descendants in the transaction. The caller is authorized to change each of them. */
export async function cancelAll(tx: TenantTransaction, runIds: readonly string[], cancel: Cancel): Promise<CancelCounts> {
  const locked = await lockForCancel(tx, runIds);
  const asked = new Set(runIds);
  const found = locked.runs.filter((run) => asked.has(run.id));
  await cancelAndClose(tx, { ...locked, runIds }, cancel);

  const count = (has: (status: RunStatus) => boolean) => found.filter((run) => has(run.status)).length;
  return {
    cancelled: count((status) => status === 'queued'),
    cancelling: count((status) => status === 'running' || status === 'waiting' || status === 'cancelling'),
    alreadyFinished: count(isTerminal),
    gone: asked.size - found.length,
  };
}

/** Leaves the runs that still match to the workflow `cancel:<id>`, one per workspace, which continues until none is left. Returns the number of workflows. */
export async function leaveToWorkflow(ctx: Changing, filter: CancelFilter, cancel: Cancel): Promise<number> {
  const places = await workspacesOfMatches(ctx, filter);
  const drafts = places.map((place) => ({ ...place, id: newId() }));
  if (drafts.length === 0) return 0;
  await insertBulkCancels(ctx, drafts, { filter, policy: cancel.policy, reason: cancel.reason });
  await addOutboxAll(
    ctx,
    drafts.map((draft) => ({ message: startOf(ctx, draft), dedupeKey: workflowIds.bulkCancel(draft.id) })),
  );
  return drafts.length;
}

function startOf(ctx: Scoped, place: RunAddress) {
  return {
    kind: 'workflow.start',
    workflowType: 'bulkCancel',
    workflowId: workflowIds.bulkCancel(place.id),
    taskQueue: taskQueues.bulk,
    args: [{ cancelId: place.id }],
    organizationId: place.organizationId,
    workspaceId: place.workspaceId,
    correlationId: ctx.correlationId,
    reuse: 'reject_duplicate',
    priority: 3,
    searchAttributes: {},
  } as const;
}

/** One round of the workflow: cancels up to `limit` of the matching runs that existed at the time of the request. Returns how many it found; 0 means done. */
export async function cancelRound(tx: TenantTransaction, bulk: OpenBulkCancel, limit: number): Promise<number> {
  const ids = await matchesOf(tx, bulk, limit);
  if (ids.length > 0) await cancelAll(tx, ids, { policy: bulk.policy, reason: bulk.reason });
  await countCancelled(tx, bulk.id, ids.length);
  return ids.length;
}
