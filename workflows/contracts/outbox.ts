import type { TaskQueue } from './queues.ts';

/** What an outbox row asks of Temporal. Ids only: no prompt, message, secret or document. */
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
      /** 1 interactive, 3 API, 5 batch. */
      readonly priority: 1 | 3 | 5;
      readonly searchAttributes: { readonly AgentId?: string; readonly RunKind?: string; readonly SourceId?: string };
    }
  | { readonly kind: 'workflow.cancel'; readonly workflowId: string }
  | { readonly kind: 'workflow.signal'; readonly workflowId: string; readonly signal: string };
