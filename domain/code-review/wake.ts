import { addOutbox } from '../../db/outbox.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';
import type { OutboxMessage } from '../../workflows/contracts/outbox.ts';
import {
  bindingChanged,
  bindingStopWorkflow,
  pullRequestChanged,
  pullRequestWorkflow,
  type PullRequestInput,
} from '../../workflows/contracts/pull-requests.ts';
import { taskQueues, workflowIds } from '../../workflows/contracts/queues.ts';

interface Place {
  readonly organizationId: string;
  readonly workspaceId: string;
}

/** Has what follows a binding look at its row, from the commit on. One message for each `cause`. */
export async function wakeBinding(
  tx: TenantTransaction,
  { id, organizationId, workspaceId }: Place & { readonly id: string },
  cause: string,
) {
  const workflowId = workflowIds.bindingStop(id);
  await addOutbox(
    tx,
    {
      ...startOf({ organizationId, workspaceId }, tx.correlationId),
      workflowType: bindingStopWorkflow,
      workflowId,
      args: [{ bindingId: id }],
      signal: bindingChanged,
    },
    { dedupeKey: `${workflowId}:${cause}` },
  );
}

/** The message that starts what follows a pull request, or wakes it. */
export function pullRequestMessage(
  { place, correlationId }: { readonly place: Place; readonly correlationId: string },
  input: PullRequestInput,
): OutboxMessage {
  return {
    ...startOf(place, correlationId),
    workflowType: pullRequestWorkflow,
    workflowId: workflowIds.review(input.bindingId, input.pullNumber),
    args: [input],
    signal: pullRequestChanged,
  };
}

/** Has what follows a pull request look at its rows, from the commit on. One message for each `cause`. */
export async function wakePullRequest(
  tx: TenantTransaction,
  place: Place,
  { cause, ...input }: PullRequestInput & { readonly cause: string },
) {
  const message = pullRequestMessage({ place, correlationId: tx.correlationId }, input);
  await addOutbox(tx, message, { dedupeKey: `${workflowIds.review(input.bindingId, input.pullNumber)}:${cause}` });
}

function startOf({ organizationId, workspaceId }: Place, correlationId: string) {
  return {
    kind: 'workflow.start',
    taskQueue: taskQueues.bulk,
    organizationId,
    workspaceId,
    correlationId,
    reuse: 'allow_duplicate',
    priority: 3,
    searchAttributes: {},
  } as const;
}
