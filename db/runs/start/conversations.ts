import type { OutboxMessage } from '../../../workflows/contracts/outbox.ts';
import { taskQueues, workflowIds } from '../../../workflows/contracts/queues.ts';
import type { RunPriority, RunSource } from '../../../workflows/contracts/runs/runs.ts';
import { row, rows } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';

/** A run lives at most this many days after it becomes active. */
export const hardDeadlineDays = 30;

/** How many runs may wait in a conversation's queue. */
export const limitQueue = 20;

/** A conversation's row. A transaction that holds its lock may start, end or reorder the conversation's runs. */
export interface ConversationRow {
  readonly id: string;
  readonly active_run_id: string | null;
  readonly queue_length: number;
  readonly next_queue_no: number;
  readonly turn_no: number;
  /** The persona of runs in this conversation that name no other. */
  readonly persona_slug: string | null;
}

export const conversationColumns = 'c.id, c.active_run_id, c.queue_length, c.next_queue_no, c.turn_no, c.persona_slug';

/** Locks a conversation until the end of the transaction: always the first lock of any change to a run. Returns null when it is not visible. */
export function lockConversation(tx: TenantTransaction, conversationId: string): Promise<ConversationRow | null> {
  return row<ConversationRow>(tx.em, `select ${conversationColumns} from conversations c where c.id = ? for no key update`, [
    conversationId,
  ]);
}

/** Locks the conversation of a run; returns null when the run is not in the transaction's tenant. */
export function lockConversationOfRun(tx: TenantTransaction, runId: string): Promise<ConversationRow | null> {
  return row<ConversationRow>(
    tx.em,
    `select ${conversationColumns} from conversations c where c.id = (select r.conversation_id from runs r where r.id = ? and r.deleted_at is null) for no key update`,
    [runId],
  );
}

/** Locks the conversations of runs by ascending id; runs that are not in the transaction's tenant are left out. */
export function lockConversationsOfRuns(tx: TenantTransaction, runIds: readonly string[]): Promise<ConversationRow[]> {
  return rows<ConversationRow>(
    tx.em,
    `select ${conversationColumns} from conversations c
      where c.id = any (array(select r.conversation_id from runs r where r.id = any (?::uuid[]) and r.deleted_at is null)) order by c.id for no key update`,
    [[...runIds]],
  );
}

/** What the start of a run's workflow needs to know of the run. */
export interface StartableRun {
  readonly id: string;
  readonly organizationId: string;
  readonly workspaceId: string;
  readonly agentId: string;
  readonly source: RunSource;
}

/** Returns the outbox message that starts a run's workflow. */
export function runStartMessage(run: StartableRun, correlationId: string): Extract<OutboxMessage, { kind: 'workflow.start' }> {
  return {
    kind: 'workflow.start',
    workflowType: 'agentRun',
    workflowId: workflowIds.run(run.id),
    taskQueue: taskQueues.runs,
    args: [{ runId: run.id }],
    organizationId: run.organizationId,
    workspaceId: run.workspaceId,
    correlationId,
    reuse: 'reject_duplicate',
    priority: priorityOf(run.source),
    searchAttributes: { AgentId: run.agentId, RunKind: run.source },
  };
}

/** Returns the outbox message that starts the workflow which makes a delayed run active. */
export function delayedStartMessage(
  run: StartableRun,
  { startAfter, correlationId }: { startAfter: Date; correlationId: string },
): OutboxMessage {
  return {
    ...runStartMessage(run, correlationId),
    workflowType: 'delayedStart',
    workflowId: workflowIds.delayedStart(run.id),
    startAt: startAfter.toISOString(),
  };
}

/** Returns the priority of a run's workflow in its task queue. */
export function priorityOf(source: RunSource): RunPriority {
  switch (source) {
    case 'channel':
    case 'sub_agent':
    case 'mcp':
      return 1;
    case 'api':
    case 'webhook':
    case 'schedule':
    case 'event':
      return 3;
    case 'code_review':
    case 'evaluation':
      return 5;
    default:
      return source satisfies never;
  }
}

/** Returns the position before all runs in the queue. */
export async function firstQueueNo(tx: TenantTransaction, conversation: Pick<ConversationRow, 'id' | 'next_queue_no'>): Promise<number> {
  const first = await row<{ queue_no: number }>(
    tx.em,
    `select coalesce(min(q.queue_no), ?::int) - 1 as queue_no from runs q where q.conversation_id = ? and q.status = 'queued' and q.queue_no is not null`,
    [conversation.next_queue_no, conversation.id],
  );
  return first?.queue_no ?? 0;
}

/** The place of a new run in its conversation: active, in the queue, or outside it until due. */
export type QueuePosition =
  | { readonly kind: 'active' }
  | { readonly kind: 'delayed' }
  | { readonly kind: 'line'; readonly queueNo: number; readonly position: number; readonly isFirst: boolean };

export type WaitingPosition = Extract<QueuePosition, { kind: 'line' }>;
