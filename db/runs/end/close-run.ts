import type { RunStatus } from '../../../workflows/contracts/runs.ts';
import { filesMadeSql } from '../../attachments/run-attachments.ts';
import { row, queueStatement } from '../../sql.ts';
import type { AttachmentPart } from '../../streams/frame-parts.schema.ts';
import type { FrameDraft } from '../../streams/frame.schema.ts';
import { readOpenMessage } from '../../streams/open-messages.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import { isRepeatable, type CallState } from '../calls/call-state.ts';
import { endChildCall, readChild } from '../children/child-end.ts';
import { measureEnd } from './measure-run.ts';
import { messageFrame, resultWithoutOutput, type FinishedRun, type RunOutput, type StopReason } from '../run-frames.ts';
import type { RunState } from '../run-state.ts';
import type { ContentBlock } from '../run-types.ts';
import { endCall, type CallEnd } from '../calls/tool-calls.ts';

/**
 * Every open call gets a result, so that a provider accepts the history: cancelled, and unknown where a write may have happened. A child's end is
 * its call's. The caller has locked the calls.
 */
export async function closeCalls(tx: TenantTransaction, calls: readonly CallState[]): Promise<FrameDraft[]> {
  const frames: FrameDraft[] = [];
  for (const call of calls) frames.push(...(await closeCall(tx, call)));
  return frames;
}

async function closeCall(tx: TenantTransaction, call: CallState): Promise<readonly FrameDraft[]> {
  const child = call.child_run_id === null ? null : await readChild(tx, call.child_run_id);
  if (child !== null) return endChildCall(tx, call, child);
  const frame = await endCall(tx, call, null, cancelledEnd(call));
  return frame === null ? [] : [frame];
}

/** How a call ends that is stopped from outside. */
export function cancelledEnd(call: CallState): CallEnd {
  // What people were asked about after a try that was lost may have happened as well.
  const isInDoubt = call.state === 'executing' || call.gate === 'confirmation';
  if (!isInDoubt || isRepeatable(call)) return { state: 'cancelled', result: resultWithoutOutput('cancelled', null), rest: null };
  const error = {
    code: 'outcome_unknown',
    message: 'The call was stopped while it was executed; it may have happened.',
    retryable: false,
    reason: 'cancelled',
  };
  return { state: 'unknown', result: resultWithoutOutput('cancelled', error), rest: null };
}

/** Messages that were being streamed become whole as far as they got. */
export async function closeMessages(
  tx: TenantTransaction,
  run: RunState,
  messageIds: readonly string[],
  stopReason: StopReason,
): Promise<FrameDraft[]> {
  const frames: FrameDraft[] = [];
  for (const messageId of messageIds) {
    const open = await readOpenMessage(tx.em, run.id, messageId);
    const content = (open?.blocks ?? []).flatMap(({ block, text }): ContentBlock[] => {
      if (block === 'reasoning') return [];
      return [{ type: block === 'refusal' ? 'refusal' : 'text', text }];
    });
    const step = open?.step ?? null;
    await insertPartialMessage(tx, run, { messageId, step, stopReason, content });
    frames.push(
      messageFrame({
        messageId,
        role: 'assistant',
        step,
        model: run.manifest?.models[0] ?? null,
        stopReason,
        content,
        toolCallIds: [],
        origin: 'model',
      }),
    );
  }
  return frames;
}

interface PartialMessage {
  readonly messageId: string;
  readonly step: number | null;
  readonly stopReason: StopReason;
  readonly content: readonly ContentBlock[];
}

async function insertPartialMessage(tx: TenantTransaction, run: RunState, partial: PartialMessage): Promise<void> {
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

/** The last thing the model said, whole or partial; nothing of a turn that is discarded. */
export async function readOutput(tx: TenantTransaction, run: RunState, end: Pick<FinishedRun, 'status'>): Promise<RunOutput | null> {
  if (isDiscarded(run, end)) return null;
  const last = await row<{ content: ContentBlock[]; files: AttachmentPart[] }>(
    tx.em,
    `select m.content, ${filesMadeSql} as files from messages m join runs r on r.id = m.run_id
      where m.run_id = ? and m.role = 'assistant' and m.turn is not distinct from coalesce(r.turn_no, 0) order by m.pos desc limit 1`,
    [run.id],
  );
  if (!last) return null;
  const text = last.content.map((block) => (block.type === 'text' ? block.text : '')).join('');
  const json = last.content.find((block) => block.type === 'json');
  return { text: text === '' ? null : text, json: json?.type === 'json' ? json.value : null, attachments: last.files, truncated: false };
}

/** Cancelled with rollback, or before it began: the turn goes with its input. */
function isDiscarded(run: RunState, end: Pick<FinishedRun, 'status'>): boolean {
  return end.status === 'cancelled' && (run.cancel_policy === 'rollback' || run.started_at === null);
}

/** Commits or discards the turn, closes the steps that are open, writes the run's end. */
export async function writeEnd(tx: TenantTransaction, run: RunState, end: FinishedRun): Promise<void> {
  await queueStatement(tx.em, `update messages set state = ? where run_id = ? and state = 'pending'`, [
    isDiscarded(run, end) ? 'discarded' : 'committed',
    run.id,
  ]);
  await queueStatement(
    tx.em,
    `update run_steps set status = ?, error = ?::jsonb, finished_at = clock_timestamp(), duration_ms = extract(epoch from clock_timestamp() - started_at) * 1000
      where run_id = ? and status = 'running'`,
    [end.status === 'cancelled' ? 'cancelled' : 'failed', end.error === null ? null : JSON.stringify(end.error), run.id],
  );
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
      run.id,
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
  measureEnd(tx, run, end);
}
