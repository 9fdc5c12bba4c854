import type { TaskQueue } from './queues.ts';

import type { DeliveryResult } from './upkeep/delivery.ts';
import type { MailRequest } from './upkeep/mail.ts';

/** The message of an outbox row. Only ids go to Temporal: no prompt, message, secret or document, and no address. */
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
      /** The trace in which it was written, as text (`db/trace-origin.ts`); missing where nothing is traced. */
      readonly trace?: string;
      readonly reuse: 'reject_duplicate' | 'allow_duplicate';
      /** ISO 8601; the workflow's first task does not start before it, by the database's clock. */
      readonly startAt?: string;
      /** Sent with the start, also to a workflow of this id that is already running. Carries nothing. */
      readonly signal?: string;
      /** 1 interactive, 3 API, 5 batch. */
      readonly priority: 1 | 3 | 5;
      readonly searchAttributes: { readonly AgentId?: string; readonly RunKind?: string; readonly SourceId?: string };
    }
  | {
      readonly kind: 'mail';
      /** Stays in the row; the workflow `delivery:<outbox id>` gets the row's id only. */
      readonly mail: MailRequest;
      /** Id of the key from which the token of its link is derived. */
      readonly keyId: string;
      /** Its token has been made, which happens once: a later try finds it or has come too late. */
      readonly opened?: true;
      /** How it ended; the row then no longer names an address. */
      readonly settled?: DeliveryResult;
      readonly workflowId: string;
      /** Null when no organization owns it: mail to operators, and to addresses that are not looked up yet. */
      readonly organizationId: string | null;
      readonly workspaceId: string | null;
      readonly correlationId: string;
    }
  | { readonly kind: 'workflow.cancel'; readonly workflowId: string }
  | { readonly kind: 'workflow.signal'; readonly workflowId: string; readonly signal: string };

/** A start that wakes a workflow of its id that is already running. */
export type WakeUp = Extract<OutboxMessage, { kind: 'workflow.start' }> & { readonly signal: string };

/** Whether it wakes a workflow. As it carries nothing, one call stands for all that were committed before it. */
export function isWakeUp(message: OutboxMessage): message is WakeUp {
  return message.kind === 'workflow.start' && message.signal !== undefined && message.startAt === undefined;
}

const workflowsOfRuns: readonly string[] = ['agentRun', 'delayedStart'];

/** Whether it creates work that can wait in a queue: the start of a run, now or later. Every other message reports on work or ends it. */
export function isRunStart(message: OutboxMessage): boolean {
  return message.kind === 'workflow.start' && workflowsOfRuns.includes(message.workflowType);
}
