import type { TaskQueue } from './queues.ts';

import type { DeliveryResult } from './upkeep/delivery.ts';
import type { MailRequest } from './upkeep/mail.ts';

/** What an outbox row asks for. To Temporal go ids only: no prompt, message, secret or document, and no address. */
export type OutboxMessage =
  | {
      readonly kind: 'workflow.start';
      readonly workflowType: string;
      readonly workflowId: string;
      readonly taskQueue: TaskQueue;
      readonly args: readonly unknown[];
      readonly organizationId: string;
      readonly workspaceId: string | null;
      readonly correlationId: string;
      readonly reuse: 'reject_duplicate' | 'allow_duplicate';
      /** ISO 8601; the workflow's first task is not before it, by the database's clock. */
      readonly startAt?: string;
      /** Sent with the start, also to a workflow of this id that is at work already. Carries nothing. */
      readonly signal?: string;
      /** 1 interactive, 3 API, 5 batch. */
      readonly priority: 1 | 3 | 5;
      readonly searchAttributes: { readonly AgentId?: string; readonly RunKind?: string; readonly SourceId?: string };
    }
  | {
      readonly kind: 'mail';
      /** Stays in the row; the workflow `delivery:<outbox id>` is told the row's id alone. */
      readonly mail: MailRequest;
      /** Id of the key under which the token of its link is derived. */
      readonly keyId: string;
      /** Its token has been made, which happens once: a later try finds it or has come too late. */
      readonly opened?: true;
      /** How it ended; the row then names no address any more. */
      readonly settled?: DeliveryResult;
      readonly workflowId: string;
      /** Null for nobody's organization: operators, and addresses that are not looked up yet. */
      readonly organizationId: string | null;
      readonly workspaceId: string | null;
      readonly correlationId: string;
    }
  | { readonly kind: 'workflow.cancel'; readonly workflowId: string }
  | { readonly kind: 'workflow.signal'; readonly workflowId: string; readonly signal: string };

/** A start that wakes a workflow of its id which is at work already. */
export type WakeUp = Extract<OutboxMessage, { kind: 'workflow.start' }> & { readonly signal: string };

/** Whether it wakes a workflow. As it carries nothing, one call stands for all that were committed before it. */
export function isWakeUp(message: OutboxMessage): message is WakeUp {
  return message.kind === 'workflow.start' && message.signal !== undefined && message.startAt === undefined;
}

const workflowsOfRuns: readonly string[] = ['agentRun', 'delayedStart'];

/** Whether it makes work that can wait in line: the start of a run, now or later. Everything else tells of work, or ends it. */
export function isRunStart(message: OutboxMessage): boolean {
  return message.kind === 'workflow.start' && workflowsOfRuns.includes(message.workflowType);
}
