import { addOutbox } from '../../../db/outbox.ts';
import type { TenantTransaction } from '../../../db/tenant-transaction.ts';
import { itemsPending } from '../../../workflows/contracts/knowledge/items.ts';
import { taskQueues, workflowIds } from '../../../workflows/contracts/queues.ts';

/** A base with items that wait for their index. */
export interface BaseToIndex {
  readonly id: string;
  readonly organizationId: string;
  readonly workspaceId: string | null;
}

/**
 * Makes the workflow `index:<kb>` index the pending items of a base after the commit, whether or not it already runs. `key` names what is pending (an item and
 * its version, say): one message is sent for it.
 */
export async function requestIndex(tx: TenantTransaction, base: BaseToIndex, key: string): Promise<void> {
  await addOutbox(
    tx,
    {
      kind: 'workflow.start',
      workflowType: 'indexBase',
      workflowId: workflowIds.indexBase(base.id),
      taskQueue: taskQueues.bulk,
      args: [{ kbId: base.id }],
      organizationId: base.organizationId,
      workspaceId: base.workspaceId,
      correlationId: tx.correlationId,
      reuse: 'allow_duplicate',
      signal: itemsPending,
      priority: 3,
      searchAttributes: { SourceId: base.id },
    },
    { dedupeKey: `index:${base.id}:${key}` },
  );
}
