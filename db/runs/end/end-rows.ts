import { row, queueStatement } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import type { RunStatus } from '../../../workflows/contracts/runs/runs.ts';
import { filesMadeSql } from '../../attachments/run-attachments.ts';
import type { AttachmentPart } from '../../streams/frame-parts.schema.ts';
import type { FinishedRun, StopReason } from '../run-frames.ts';
import type { RunState } from '../run-state.ts';
import type { ContentBlock } from '../run-types.ts';

/** Returns whether a run has begun a later step than this one. */
export async function hasStepBehind(tx: TenantTransaction, runId: string, step: number): Promise<boolean> {
  return (await row(tx.em, 'select step from run_steps where run_id = ? and step > ? limit 1', [runId, step])) !== null;
}

/** A message that was still being streamed. */
interface PartialMessage {
  readonly messageId: string;
  readonly step: number | null;
  readonly stopReason: StopReason;
  readonly content: readonly ContentBlock[];
}

/** Writes a message as far as it got, after the other messages of its run. Goes with the next statement. */
export async function insertPartialMessage(tx: TenantTransaction, run: RunState, partial: PartialMessage): Promise<void> {
  await queueStatement(
    tx.em,
    `insert into messages (id, organization_id, workspace_id, conversation_id, run_id, turn, pos, step, role, origin, content, tool_call_ids, model, stop_reason, state, attempt, created_at)
     select ?, ?, ?, ?, ?, ?, coalesce(max(pos) + 1, 0), ?, 'assistant', 'model', ?::jsonb, '{}', ?, ?, 'pending', 1, now() from messages where run_id = ?`,
    [
      partial.messageId,
      run.organization_id,
      run.workspace_id,
      run.conversation_id,
      run.id,
      run.turn_no ?? 0,
      partial.step,
      JSON.stringify(partial.content),
      run.manifest?.models[0] ?? null,
      partial.stopReason,
      run.id,
    ],
  );
}

/** Returns the model's last message in a run's turn, and the files that the run has created. */
export function readLastAnswer(
  tx: TenantTransaction,
  runId: string,
): Promise<{ readonly content: ContentBlock[]; readonly files: AttachmentPart[] } | null> {
  return row<{ content: ContentBlock[]; files: AttachmentPart[] }>(
    tx.em,
    `select m.content, ${filesMadeSql} as files from messages m join runs r on r.id = m.run_id
      where m.run_id = ? and m.role = 'assistant' and m.turn is not distinct from coalesce(r.turn_no, 0) order by m.pos desc limit 1`,
    [runId],
  );
}

/** Commits or discards a run's pending messages. Goes with the next statement. */
export async function settleMessages(tx: TenantTransaction, runId: string, state: 'committed' | 'discarded'): Promise<void> {
  await queueStatement(tx.em, `update messages set state = ? where run_id = ? and state = 'pending'`, [state, runId]);
}

/** Ends the open steps of a run. Goes with the next statement. */
export async function closeSteps(
  tx: TenantTransaction,
  runId: string,
  { status, error }: { readonly status: 'cancelled' | 'failed'; readonly error: FinishedRun['error'] },
): Promise<void> {
  await queueStatement(
    tx.em,
    `update run_steps set status = ?, error = ?::jsonb, finished_at = clock_timestamp(), duration_ms = extract(epoch from clock_timestamp() - started_at) * 1000
      where run_id = ? and status = 'running'`,
    [status, error === null ? null : JSON.stringify(error), runId],
  );
}

/** Writes the outcome of a run that has none. Goes with the next statement. */
export async function writeFinished(tx: TenantTransaction, runId: string, end: FinishedRun): Promise<void> {
  const mayLeave: readonly RunStatus[] = ['queued', 'running', 'waiting', 'cancelling'];
  const finishedAt = end.finishedAt.toISOString();
  await queueStatement(
    tx.em,
    `with waited as (
       select id, waited_ms + coalesce((extract(epoch from ?::timestamptz - waiting_since) * 1000)::bigint, 0) as ms from runs where id = ?
     )
     update runs r set status = ?, finish_reason = ?, output = ?::jsonb, error = ?::jsonb, finished_at = ?::timestamptz, waiting_on = null, waiting_until = null,
            waiting_since = null, waited_ms = waited.ms,
            active_ms = greatest(0, coalesce((extract(epoch from ?::timestamptz - r.started_at) * 1000)::bigint, 0) - waited.ms), queue_no = null, updated_at = ?::timestamptz
       from waited where r.id = waited.id and r.status = any (?)`,
    [
      finishedAt,
      runId,
      end.status,
      end.finishReason,
      end.output === null ? null : JSON.stringify(end.output),
      end.error === null ? null : JSON.stringify(end.error),
      finishedAt,
      finishedAt,
      finishedAt,
      mayLeave,
    ],
  );
}
