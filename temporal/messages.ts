import { WorkflowNotFoundError } from '@temporalio/client';
import type { OutboxMessage } from '../workflows/contracts/outbox.ts';
import type { Temporal } from './client.ts';
import { completeNamespace, isNamespaceIncomplete } from './namespace.ts';
import { startDelivery, startWorkflow } from './start.ts';

/** One message may take this long before it is left to the relay. */
const sendTimeoutMs = 3000;

/** `missing`: there is no open workflow of that id to cancel or wake. */
export type SendResult = 'sent' | 'missing';

/**
 * Sends the message of an outbox row. Sending twice has the effect of sending once. If the namespace is missing or incomplete, completes it and sends the
 * message once more. `startsAtMs`: when a workflow begins at the earliest, on the clock of `performance.now()`; null: at once. Rejects when Temporal did not
 * accept it in time.
 */
export async function sendMessage(temporal: Temporal, message: OutboxMessage, startsAtMs: number | null = null): Promise<SendResult> {
  const sendOnce = () => temporal.connection.withDeadline(Date.now() + sendTimeoutMs, () => send(temporal, message, startsAtMs));
  try {
    await sendOnce();
  } catch (error) {
    if (!isNamespaceIncomplete(error)) return missingOr(error);
    await completeNamespace(temporal);
    return sendOnce().then(() => 'sent' as const, missingOr);
  }
  return 'sent';
}

function missingOr(error: unknown): SendResult {
  if (error instanceof WorkflowNotFoundError) return 'missing';
  throw error;
}

async function send(temporal: Temporal, message: OutboxMessage, startsAtMs: number | null): Promise<void> {
  switch (message.kind) {
    case 'workflow.start':
      return startWorkflow(temporal, message, startsAtMs);
    case 'mail':
      return startDelivery(temporal, message);
    case 'workflow.cancel':
      await temporal.client.workflow.getHandle(message.workflowId).cancel();
      return;
    case 'workflow.signal':
      return temporal.client.workflow.getHandle(message.workflowId).signal(message.signal);
    default:
      message satisfies never;
  }
}
