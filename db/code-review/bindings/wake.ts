import { addOutbox } from '../../outbox.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import type { OutboxMessage } from '../../../workflows/contracts/outbox.ts';
import {
  bindingChanged,
  bindingStopWorkflow,
  pullRequestChanged,
  pullRequestWorkflow,
  type PullRequestInput,
} from '../../../workflows/contracts/review/pull-requests.ts';
import { taskQueues, workflowIds } from '../../../workflows/contracts/queues.ts';

interface Place {
  readonly organizationId: string;
  readonly workspaceId: string;
}

/** Returns the messages that start or wake the workflows of a pull request and a binding, without workflow id, arguments and tenant. */
export function wakeParts(correlationId: string) {
  const common = {
    kind: 'workflow.start',
    taskQueue: taskQueues.bulk,
    correlationId,
    reuse: 'allow_duplicate',
    priority: 3,
    searchAttributes: {},
  } as const;
  return {
    pullMessage: { ...common, workflowType: pullRequestWorkflow, signal: pullRequestChanged },
    bindingMessage: { ...common, workflowType: bindingStopWorkflow, signal: bindingChanged },
  };
}

/** Returns the message that starts or wakes the workflow of a pull request. */
export function pullRequestMessage(
  { organizationId, workspaceId, correlationId }: Place & { readonly correlationId: string },
  { bindingId, pullNumber }: PullRequestInput,
): Extract<OutboxMessage, { kind: 'workflow.start' }> {
  const workflowId = workflowIds.review(bindingId, pullNumber);
  return { ...wakeParts(correlationId).pullMessage, workflowId, args: [{ bindingId, pullNumber }], organizationId, workspaceId };
}

/** Makes the workflow of a binding check its row, from the commit on. One message per `cause`. */
export async function wakeBinding(
  tx: TenantTransaction,
  { id, organizationId, workspaceId }: Place & { readonly id: string },
  cause: string,
): Promise<void> {
  const workflowId = workflowIds.bindingStop(id);
  const { bindingMessage } = wakeParts(tx.correlationId);
  await addOutbox(
    tx,
    { ...bindingMessage, workflowId, args: [{ bindingId: id }], organizationId, workspaceId },
    { dedupeKey: `${workflowId}:${cause}` },
  );
}

/** Makes the workflow of a pull request check its rows, from the commit on. One message per `cause`. */
export async function wakePullRequest(
  tx: TenantTransaction,
  { organizationId, workspaceId }: Place,
  { cause, ...input }: PullRequestInput & { readonly cause: string },
): Promise<void> {
  const message = pullRequestMessage({ organizationId, workspaceId, correlationId: tx.correlationId }, input);
  await addOutbox(tx, message, { dedupeKey: `${message.workflowId}:${cause}` });
}
