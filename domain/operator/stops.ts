import { newId } from '../../db/ids.ts';
import { addOutbox } from '../../db/outbox.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';
import { stateChanged } from '../../workflows/contracts/upkeep/operator.ts';
import { taskQueues, workflowIds } from '../../workflows/contracts/queues.ts';

/**
 * After the commit `maint:org-stop:<id>` looks at the organization's row and does what its state asks for: while it is suspended or deleting
 * its schedules pause and its live runs are cancelled, batch by batch. To be called in the transaction that changes the state.
 */
export function stopOrganization(tx: TenantTransaction, organizationId: string): Promise<void> {
  return tell(tx, { workflowType: 'orgStop', workflowId: workflowIds.orgStop(organizationId), organizationId, workspaceId: null });
}

/** The reverse: what was paused for the stop goes on. The same workflow is told, and the newest state wins. */
export function resumeOrganization(tx: TenantTransaction, organizationId: string): Promise<void> {
  return stopOrganization(tx, organizationId);
}

/** The same for a workspace that is being archived: `maint:ws-stop:<id>`. */
export function stopWorkspace(tx: TenantTransaction, workspaceId: string, organizationId: string): Promise<void> {
  return tell(tx, { workflowType: 'wsStop', workflowId: workflowIds.wsStop(workspaceId), organizationId, workspaceId });
}

/** A restored workspace: triggers go on; runs that were cancelled stay so. */
export function resumeWorkspace(tx: TenantTransaction, workspaceId: string, organizationId: string): Promise<void> {
  return stopWorkspace(tx, workspaceId, organizationId);
}

/** After the commit `maint:org-purge:<id>` goes on with the open purge of the organization. */
export function startPurge(tx: TenantTransaction, organizationId: string): Promise<void> {
  return tell(tx, { workflowType: 'orgPurge', workflowId: workflowIds.orgPurge(organizationId), organizationId, workspaceId: null });
}

interface Stop {
  readonly workflowType: 'orgStop' | 'wsStop' | 'orgPurge';
  readonly workflowId: string;
  readonly organizationId: string;
  readonly workspaceId: string | null;
}

// Start and signal are one message: a workflow at work looks again, one that has ended begins anew. Both find the newest state in the row.
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
