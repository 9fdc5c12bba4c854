import { sql } from 'kysely';
import { now } from '../../expressions.ts';
import { newId } from '../../ids.ts';
import { insertFrom } from '../../insert-from.ts';
import { prepared, type ParametersOf } from '../../prepared.ts';
import { query } from '../../query.ts';
import { messageFrame } from '../../runs/run-frames.ts';
import { identityOf, type RunState } from '../../runs/run-state.ts';
import type { ContentBlock } from '../../runs/run-types.ts';
import { change, row } from '../../sql.ts';
import { appendFrames, stateBatch } from '../../streams/append.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';

const closingMessage = prepared(({ runId, step }: ParametersOf<{ readonly runId: string; readonly step: number }>) =>
  query
    .selectFrom('messages as m')
    .select('m.id')
    .where('m.runId', '=', runId)
    .where('m.step', '=', step)
    .where('m.role', '=', 'assistant'),
);

/** Whether a run already has its last message. */
export async function hasClosingMessage(tx: Pick<TenantTransaction, 'em'>, runId: string, step: number): Promise<boolean> {
  return (await row(tx.em, closingMessage({ runId, step }))) !== null;
}

interface ClosingMessage {
  readonly id: string;
  readonly organizationId: string;
  readonly workspaceId: string;
  readonly conversationId: string;
  readonly runId: string;
  readonly turn: number;
  readonly step: number;
  /** JSON. */
  readonly content: string;
}

const closing = prepared((message: ParametersOf<ClosingMessage>) =>
  insertFrom('messages', query.selectFrom('messages as m').where('m.runId', '=', message.runId), ({ ref }) => ({
    id: sql<string>`${message.id}::uuid`,
    organizationId: sql<string>`${message.organizationId}::uuid`,
    workspaceId: sql<string>`${message.workspaceId}::uuid`,
    conversationId: sql<string>`${message.conversationId}::uuid`,
    runId: sql<string>`${message.runId}::uuid`,
    turn: sql<number>`${message.turn}::int`,
    pos: sql<number>`coalesce(max(${ref('m.pos')}) + 1, 0)`,
    step: sql<number>`${message.step}::int`,
    role: sql.lit('assistant'),
    origin: sql.lit('model'),
    content: sql<ContentBlock[]>`${message.content}::jsonb`,
    toolCallIds: sql<string[]>`'{}'::uuid[]`,
    stopReason: sql.lit('stop'),
    state: sql.lit('pending'),
    attempt: sql.lit(1),
    createdAt: now,
  })),
);

/** Stores the last message of a locked run, which becomes its output, and its frame. */
export async function insertClosingMessage(
  tx: TenantTransaction,
  run: RunState,
  { step, content }: { readonly step: number; readonly content: ContentBlock[] },
): Promise<void> {
  const messageId = newId();
  const of = { organizationId: run.organization_id, workspaceId: run.workspace_id, conversationId: run.conversation_id, runId: run.id };
  await change(tx.em, closing({ id: messageId, ...of, turn: run.turn_no ?? 0, step, content: JSON.stringify(content) }));
  const frame = messageFrame({
    messageId,
    role: 'assistant',
    step,
    model: null,
    stopReason: 'stop',
    content,
    toolCallIds: [],
    origin: 'model',
  });
  await appendFrames(tx, [stateBatch(identityOf(run), [frame])]);
}

const addingSpent = prepared(({ pullRequestId, amount }: ParametersOf<{ readonly pullRequestId: string; readonly amount: string }>) =>
  query
    .updateTable('review_pull_requests')
    .set(({ ref }) => ({ spent: sql<string>`${ref('spent')} + ${amount}::numeric`, updatedAt: now }))
    .where('id', '=', pullRequestId),
);

/** Adds the cost of a run to its pull request, by the run's own total. */
export async function addSpent(tx: TenantTransaction, pullRequestId: string, run: RunState): Promise<void> {
  await change(tx.em, addingSpent({ pullRequestId, amount: run.usage_own.cost_amount }));
}
