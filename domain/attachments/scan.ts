import type { AttachmentRow } from '../../db/attachments/attachments.ts';
import { storeVerdict } from '../../db/attachments/write-attachment.ts';
import { addOutbox } from '../../db/outbox.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';
import { taskQueues, workflowIds } from '../../workflows/contracts/queues.ts';

/** Has somebody look at stored bytes. Not behind a batch: runs wait for it. */
export async function startScan(tx: TenantTransaction, { id, organization_id, workspace_id }: AttachmentRow): Promise<void> {
  await addOutbox(
    tx,
    {
      kind: 'workflow.start',
      workflowType: 'attachmentScan',
      workflowId: workflowIds.scan(id),
      taskQueue: taskQueues.runs,
      args: [{ attachmentId: id }],
      organizationId: organization_id,
      workspaceId: workspace_id,
      correlationId: tx.correlationId,
      reuse: 'reject_duplicate',
      priority: 3,
      searchAttributes: {},
    },
    { dedupeKey: workflowIds.scan(id) },
  );
}

/** Writes what was found, once: a verdict is never changed. */
export function settleScan(tx: TenantTransaction, attachmentId: string, state: 'ready' | 'rejected'): Promise<number> {
  return storeVerdict(tx, attachmentId, state);
}
