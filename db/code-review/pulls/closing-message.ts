import { newId } from '../../ids.ts';
import { messageFrame } from '../../runs/run-frames.ts';
import { identityOf, type RunState } from '../../runs/run-state.ts';
import type { ContentBlock } from '../../runs/run-types.ts';
import { row, rows } from '../../sql.ts';
import { appendFrames, stateBatch } from '../../streams/append.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';

/** Whether a run already has its last message. */
export async function hasClosingMessage(tx: Pick<TenantTransaction, 'em'>, runId: string, step: number): Promise<boolean> {
  return (await row(tx.em, `select 1 as found from messages where run_id = ? and step = ? and role = 'assistant'`, [runId, step])) !== null;
}

/** Stores the last message of a locked run, which becomes its output, and its frame. */
export async function insertClosingMessage(
  tx: TenantTransaction,
  run: RunState,
  { step, content }: { readonly step: number; readonly content: ContentBlock[] },
): Promise<void> {
  const messageId = newId();
  await rows(
    tx.em,
    `insert into messages (id, organization_id, workspace_id, conversation_id, run_id, turn, pos, step, role, origin, content, tool_call_ids, model, stop_reason, state, attempt, created_at)
     select ?, ?, ?, ?, ?, ?, coalesce(max(pos) + 1, 0), ?, 'assistant', 'model', ?::jsonb, '{}', null, 'stop', 'pending', 1, now() from messages where run_id = ?`,
    [
      messageId,
      run.organization_id,
      run.workspace_id,
      run.conversation_id,
      run.id,
      run.turn_no ?? 0,
      step,
      JSON.stringify(content),
      run.id,
    ],
  );
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

/** Adds the cost of a run to its pull request, by the run's own total. */
export async function addSpent(tx: TenantTransaction, pullRequestId: string, run: RunState): Promise<void> {
  await rows(tx.em, 'update review_pull_requests set spent = spent + ?::numeric, updated_at = now() where id = ?', [
    run.usage_own.cost_amount,
    pullRequestId,
  ]);
}
