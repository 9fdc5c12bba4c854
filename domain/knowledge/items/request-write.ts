import { addOutbox } from '../../../db/outbox.ts';
import type { TenantTransaction } from '../../../db/tenant-transaction.ts';
import type { WriteItemInput } from '../../../workflows/contracts/knowledge/items.ts';
import { taskQueues, workflowIds } from '../../../workflows/contracts/queues.ts';

export interface WriteToRequest extends WriteItemInput {
  readonly organizationId: string;
  readonly workspaceId: string;
}

/** Makes the workflow `maint:write:<tool_call_id>` retry a write to a base that is being copied. One message per call, however often it is requested. */
export async function requestWrite(tx: TenantTransaction, { organizationId, workspaceId, ...input }: WriteToRequest): Promise<void> {
  await addOutbox(
    tx,
    {
      kind: 'workflow.start',
      workflowType: 'writeItem',
      workflowId: workflowIds.writeItem(input.toolCallId),
      taskQueue: taskQueues.bulk,
      args: [input],
      organizationId,
      workspaceId,
      correlationId: tx.correlationId,
      reuse: 'reject_duplicate',
      priority: 3,
      searchAttributes: { SourceId: input.kbId },
    },
    { dedupeKey: `write:${input.toolCallId}` },
  );
}
