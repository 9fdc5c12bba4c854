import { WorkflowExecutionAlreadyStartedError, type WorkflowStartOptions } from '@temporalio/client';
import { parseOrigin, type TraceOrigin } from '../ports/telemetry/origin.ts';
import { rootOrigin } from '../ports/telemetry/run-trace.ts';
import { runIdOf, taskQueues, workflowIds } from '../workflows/contracts/queues.ts';
import type { OutboxMessage } from '../workflows/contracts/outbox.ts';
import type { Temporal } from './client.ts';
import { signTenantHeader } from './header.ts';
import { searchAttributePairs } from './search-attributes.ts';

export type StartMessage = Extract<OutboxMessage, { kind: 'workflow.start' }>;

export type MailMessage = Extract<OutboxMessage, { kind: 'mail' }>;

/**
 * Starts the delivery of a mail: workflow `delivery:<outbox id>`, whose input is the id of its outbox row only. Has no tenant header: the recipient is found
 * through the row. A second start is success.
 */
export async function startDelivery(temporal: Temporal, { workflowId, correlationId }: MailMessage): Promise<void> {
  try {
    await temporal.client.workflow.start('delivery', {
      workflowId,
      taskQueue: taskQueues.runs,
      args: [{ outboxId: workflowId.slice(workflowIds.delivery('').length) }],
      workflowIdReusePolicy: 'REJECT_DUPLICATE',
      workflowIdConflictPolicy: 'USE_EXISTING',
      priority: { priorityKey: 1 },
      memo: { correlation_id: correlationId },
    });
  } catch (error) {
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
  }
}

/**
 * Starts a workflow for a tenant. A running one with this id, and a closed one where ids are used once, count as success: a caller that asks twice wants one.
 * `startsAtMs`: see `sendMessage`. No retry and no execution timeout: the rows determine how a run ends.
 */
export async function startWorkflow(temporal: Temporal, message: StartMessage, startsAtMs: number | null = null): Promise<void> {
  const { organizationId, workspaceId, correlationId } = message;
  const header = signTenantHeader(temporal.headerKeys, { organizationId, workspaceId, correlationId, trace: traceOf(message) });

  const options: WorkflowStartOptions = {
    workflowId: message.workflowId,
    taskQueue: message.taskQueue,
    args: [...message.args],
    workflowIdReusePolicy: message.reuse === 'reject_duplicate' ? 'REJECT_DUPLICATE' : 'ALLOW_DUPLICATE',
    workflowIdConflictPolicy: 'USE_EXISTING',
    priority: { priorityKey: message.priority, fairnessKey: workspaceId ?? organizationId },
    memo: { correlation_id: correlationId },
    typedSearchAttributes: searchAttributePairs({ OrganizationId: organizationId, WorkspaceId: workspaceId, ...message.searchAttributes }),
    ...(startsAtMs === null ? {} : { startDelay: Math.max(0, Math.ceil(startsAtMs - performance.now())) }),
  };

  try {
    await temporal.withHeader(header, () => startOrSignal(temporal, message, options));
  } catch (error) {
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
  }
}

/** A run that nobody's trace started is the root of its own. */
function traceOf({ trace, workflowId }: StartMessage): TraceOrigin | null {
  const runId = runIdOf(workflowId);
  return parseOrigin(trace) ?? (runId === null ? null : rootOrigin(runId));
}

function startOrSignal({ client }: Temporal, message: StartMessage, options: WorkflowStartOptions): Promise<unknown> {
  const { workflowType, signal } = message;

  return signal === undefined
    ? client.workflow.start(workflowType, options)
    : client.workflow.signalWithStart(workflowType, { ...options, signal, signalArgs: [] });
}
