import { channelRunChanged } from '../../workflows/contracts/triggers/channels.ts';
import { taskQueues, workflowIds } from '../../workflows/contracts/queues.ts';
import { newId } from '../ids.ts';
import { addOutbox } from '../outbox.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';

/** What is answered, and where it lies. */
export interface AnsweredPlace {
  readonly messageId: string;
  /** Null: the message could start no run. */
  readonly runId: string | null;
  readonly organizationId: string;
  readonly workspaceId: string;
}

/** After the commit the workflow of an answer is started, or looks again at what is to be sent. */
export async function wakeReply(tx: TenantTransaction, { messageId, runId, organizationId, workspaceId }: AnsweredPlace): Promise<void> {
  const workflowId = workflowIds.channelReply(runId ?? messageId);
  await addOutbox(
    tx,
    {
      kind: 'workflow.start',
      workflowType: 'channelReply',
      workflowId,
      taskQueue: taskQueues.runs,
      args: [{ messageId }],
      organizationId,
      workspaceId,
      correlationId: tx.correlationId,
      reuse: 'allow_duplicate',
      signal: channelRunChanged,
      priority: 3,
      searchAttributes: {},
    },
    { dedupeKey: `${workflowId}:${newId()}` },
  );
}
