import { sql } from 'kysely';
import type { OutboxMessage } from '../../../workflows/contracts/outbox.ts';
import { taskQueues, workflowIds } from '../../../workflows/contracts/queues.ts';
import { priorityOf, type RunSource } from '../../../workflows/contracts/runs/runs.ts';
import { anyId } from '../../expressions.ts';
import { prepared, type ParametersOf } from '../../prepared.ts';
import { query } from '../../query.ts';
import { row, rows } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import { queued } from '../live.ts';

/** A run lives at most this many days after it becomes active. */
export const hardDeadlineDays = 30;

/** How many runs may wait in a conversation's queue. */
export const maxQueued = 20;

/** A conversation's row. A transaction that holds its lock may start, end or reorder the conversation's runs. */
export type ConversationRow = NonNullable<Awaited<ReturnType<typeof lockConversation>>>;

/** The columns of a `ConversationRow`; its persona is that of runs in this conversation that name no other. */
export const conversationColumns = ['id', 'activeRunId', 'queueLength', 'nextQueueNo', 'turnNo', 'personaSlug'] as const;

function selectLocked() {
  return query.selectFrom('conversations').select(conversationColumns).forNoKeyUpdate();
}

const byId = prepared(({ id }: ParametersOf<{ readonly id: string }>) => selectLocked().where('id', '=', id));

const ofRun = prepared(({ runId }: ParametersOf<{ readonly runId: string }>) =>
  selectLocked().where(
    'id',
    '=',
    query.selectFrom('runs as r').select('r.conversationId').where('r.id', '=', runId).where('r.deletedAt', 'is', null),
  ),
);

const ofRuns = prepared(({ runIds }: ParametersOf<{ readonly runIds: readonly string[] }>) => {
  const found = query.selectFrom('runs as r').select('r.conversationId').where('r.id', '=', anyId(runIds)).where('r.deletedAt', 'is', null);
  return selectLocked()
    .where('id', '=', sql<string>`any (array${found})`)
    .orderBy('id');
});

/** Locks a conversation until the end of the transaction: always the first lock of any change to a run. Returns null when it is not visible. */
export function lockConversation(tx: TenantTransaction, conversationId: string) {
  return row(tx.em, byId({ id: conversationId }));
}

/** Locks the conversation of a run; returns null when the run is not in the transaction's tenant. */
export function lockConversationOfRun(tx: TenantTransaction, runId: string): Promise<ConversationRow | null> {
  return row(tx.em, ofRun({ runId }));
}

/** Locks the conversations of runs by ascending id; runs that are not in the transaction's tenant are left out. */
export function lockConversationsOfRuns(tx: TenantTransaction, runIds: readonly string[]): Promise<ConversationRow[]> {
  return rows(tx.em, ofRuns({ runIds: [...runIds] }));
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

const firstOfQueue = prepared(({ conversationId, next }: ParametersOf<{ readonly conversationId: string; readonly next: number }>) =>
  query
    .selectFrom('runs as q')
    .where('q.conversationId', '=', conversationId)
    .where('q.status', '=', queued)
    .where('q.queueNo', 'is not', null)
    .select(({ ref }) => sql<number>`coalesce(min(${ref('q.queueNo')}), ${next}::int) - 1`.as('queueNo')),
);

/** Returns the position before all runs in the queue. */
export async function firstQueueNo(tx: TenantTransaction, conversation: Pick<ConversationRow, 'id' | 'nextQueueNo'>): Promise<number> {
  const first = await row(tx.em, firstOfQueue({ conversationId: conversation.id, next: conversation.nextQueueNo }));
  return first?.queueNo ?? 0;
}

/** The place of a new run in its conversation: active, in the queue, or outside it until due. */
export type QueuePosition =
  | { readonly kind: 'active' }
  | { readonly kind: 'delayed' }
  | { readonly kind: 'line'; readonly queueNo: number; readonly position: number; readonly isFirst: boolean };

export type WaitingPosition = Extract<QueuePosition, { kind: 'line' }>;
