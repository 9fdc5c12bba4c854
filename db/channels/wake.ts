import { channelRunChanged } from '../../workflows/contracts/triggers/channels.ts';
import { taskQueues, workflowIds } from '../../workflows/contracts/queues.ts';
import { newId } from '../ids.ts';
import { addOutbox } from '../outbox.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';

/** The message that is answered, and its tenant. */
export interface AnsweredPlace {
  readonly messageId: string;
  /** Null: the message could not start a run. */
  readonly runId: string | null;
  readonly organizationId: string;
  readonly workspaceId: string;
}

/** After the commit, starts the workflow of an answer, or makes it check again what is to be sent. */
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
