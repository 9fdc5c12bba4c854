import { newId } from '../../db/ids.ts';
import { addOutbox } from '../../db/outbox.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';
import { stateChanged } from '../../workflows/contracts/upkeep/operator.ts';
import { taskQueues, workflowIds } from '../../workflows/contracts/queues.ts';

/**
 * After the commit `maint:org-stop:<id>` reads the organization's row and does what its state requires: while it is suspended or deleting its schedules pause
 * and its live runs are cancelled, batch by batch. Call this in the transaction that changes the state.
 */
export function stopOrganization(tx: TenantTransaction, organizationId: string): Promise<void> {
  return tell(tx, { workflowType: 'orgStop', workflowId: workflowIds.orgStop(organizationId), organizationId, workspaceId: null });
}

/** The reverse: what was paused for the stop resumes. It starts or signals the same workflow, and the newest state wins. */
export function resumeOrganization(tx: TenantTransaction, organizationId: string): Promise<void> {
  return stopOrganization(tx, organizationId);
}

/** The same for a workspace that is being archived: `maint:ws-stop:<id>`. */
export function stopWorkspace(tx: TenantTransaction, workspaceId: string, organizationId: string): Promise<void> {
  return tell(tx, { workflowType: 'wsStop', workflowId: workflowIds.wsStop(workspaceId), organizationId, workspaceId });
}

/** The reverse for a restored workspace: triggers resume; runs that were cancelled stay cancelled. */
export function resumeWorkspace(tx: TenantTransaction, workspaceId: string, organizationId: string): Promise<void> {
  return stopWorkspace(tx, workspaceId, organizationId);
}

/** After the commit `maint:org-purge:<id>` continues the open purge of the organization. */
export function startPurge(tx: TenantTransaction, organizationId: string): Promise<void> {
  return tell(tx, { workflowType: 'orgPurge', workflowId: workflowIds.orgPurge(organizationId), organizationId, workspaceId: null });
}

interface Stop {
  readonly workflowType: 'orgStop' | 'wsStop' | 'orgPurge';
  readonly workflowId: string;
  readonly organizationId: string;
  readonly workspaceId: string | null;
}

// Start and signal are one message: a running workflow checks again, an ended one starts again. Both find the newest state in the row.
async function tell(tx: TenantTransaction, { workflowType, workflowId, organizationId, workspaceId }: Stop): Promise<void> {
  await addOutbox(
    tx,
    {
      kind: 'workflow.start',
      workflowType,
      workflowId,
      taskQueue: taskQueues.bulk,
      args: [],
      organizationId,
      workspaceId,
      correlationId: tx.correlationId,
      reuse: 'allow_duplicate',
      signal: stateChanged,
      priority: 3,
      searchAttributes: {},
    },
    { dedupeKey: `${workflowId}:${newId()}` },
  );
}
