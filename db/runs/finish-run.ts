import { errorCodes } from '../../workflows/contracts/error-codes.ts';
import type { FinishRunInput } from '../../workflows/contracts/agent-run.ts';
import { isTerminal, type RunStatus } from '../../workflows/contracts/runs.ts';
import { filesMadeSql } from '../attachments/run-attachments.ts';
import { row, rows } from '../sql.ts';
import { appendFrames, lockStreams, stateBatch } from '../streams/append.ts';
import type { AttachmentPart } from '../streams/frame-parts.schema.ts';
import type { FrameDraft } from '../streams/frame.schema.ts';
import { openMessages, readOpenMessage } from '../streams/open-messages.ts';
import { closeOccurrenceOf } from '../triggers/close-occurrence.ts';
import type { Unit } from '../unit.ts';
import { activateNext, lockConversationOfRun } from './conversations.ts';
import { finishedFrame, messageFrame, resultWithoutOutput, type FinishedRun, type RunOutput, type StopReason } from './run-frames.ts';
import type { ContentBlock, RunFault } from './run-types.ts';
import { identityOf, lockRun, type RunState } from './run-state.ts';
import { endCall, isRepeatable, lockOpenCalls, type CallEnd, type CallState } from './tool-calls.ts';

/**
 * Ends a run, once: closes open messages and calls, commits or discards the turn, writes the run and its last frames, moves the
 * conversation's line. A run that has ended already, or is gone, is left as it is.
 */
export async function finishRun(unit: Unit, input: FinishRunInput): Promise<void> {
  const conversation = await lockConversationOfRun(unit, input.runId);
  const run = conversation ? await lockRun(unit, input.runId) : null;
  if (!conversation || !run || isTerminal(run.status)) return;

  const end = endingOf(run, input);
  const frames = await closeCalls(unit, run);
  const head = (await lockStreams(unit, [run.id])).get(run.id)?.headSeq ?? 0;
  frames.unshift(...(await closeMessages(unit, run, end.status === 'cancelled' ? 'cancelled' : 'error')));
  const output = run.cancel_policy === 'rollback' && end.status === 'cancelled' ? null : await readOutput(unit, run.id);
  const finished: FinishedRun = {
    ...end,
    output,
    finishedAt: new Date(),
    lastSeq: head + frames.length + 1,
    usage: { own: run.usage_own, subtree: run.usage_subtree },
  };

  await writeEnd(unit, run, finished);
  await appendFrames(unit, [stateBatch(identityOf(run), [...frames, finishedFrame(run, finished)])]);
  if (conversation.active_run_id === run.id) await activateNext(unit, conversation.id);
  await closeOccurrenceOf(unit, run, finished.status);
}

/** Only a row in cancelling ends cancelled, only `stop` succeeds; every other end keeps what there is and says why. */
function endingOf(run: RunState, input: FinishRunInput): Pick<FinishedRun, 'status' | 'finishReason' | 'error'> {
  if (run.status === 'cancelling') return { status: 'cancelled', finishReason: 'cancelled', error: null };
  if (input.reason === 'stop') return { status: 'succeeded', finishReason: 'stop', error: null };
  if (input.reason === 'cancelled')
    return {
      status: 'failed',
      finishReason: 'error',
      error: errorOf({ code: 'internal_error', message: 'The work was stopped from outside.', reason: 'workflow_cancelled' }),
    };
  const hasError = input.reason === 'error' || input.reason === 'budget_exceeded';
  return {
    status: 'failed',
    finishReason: input.reason,
    error: hasError ? errorOf(input.error ?? { code: 'internal_error', message: errorCodes.internal_error.title }) : null,
  };
}

function errorOf(error: NonNullable<FinishRunInput['error']>): RunFault {
  return {
    code: error.code,
    message: error.message.slice(0, 1_000).toWellFormed(),
    retryable: errorCodes[error.code].retryable,
    reason: error.reason?.slice(0, 120) ?? null,
  };
}

/** Every call gets a result, so that a provider accepts the history: cancelled, and unknown where a write may have happened. */
async function closeCalls(unit: Unit, run: RunState): Promise<FrameDraft[]> {
  const frames: FrameDraft[] = [];
  for (const call of await lockOpenCalls(unit, run.id)) {
    const frame = await endCall(unit, call, null, cancelledEnd(call));
    if (frame !== null) frames.push(frame);
  }
  return frames;
}

/** How a call ends that is stopped from outside. */
export function cancelledEnd(call: CallState): CallEnd {
  if (call.state !== 'executing' || isRepeatable(call))
    return { state: 'cancelled', result: resultWithoutOutput('cancelled', null), rest: null };
  const error = {
    code: 'outcome_unknown',
    message: 'The call was stopped while it was executed; it may have happened.',
    retryable: false,
    reason: 'cancelled',
  };
  return { state: 'unknown', result: resultWithoutOutput('cancelled', error), rest: null };
}

/** Messages that were being streamed become whole as far as they got. */
async function closeMessages(unit: Unit, run: RunState, stopReason: StopReason): Promise<FrameDraft[]> {
  const frames: FrameDraft[] = [];
  for (const messageId of await openMessages(unit.em, run.id)) {
    const open = await readOpenMessage(unit.em, run.id, messageId);
    const content = (open?.blocks ?? []).flatMap(({ block, text }): ContentBlock[] => {
      if (block === 'reasoning') return [];
      return [{ type: block === 'refusal' ? 'refusal' : 'text', text }];
    });
    const step = open?.step ?? null;
    await insertPartialMessage(unit, run, { messageId, step, stopReason, content });
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

async function insertPartialMessage(unit: Unit, run: RunState, partial: PartialMessage): Promise<void> {
  await rows(
    unit.em,
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

/** The last thing the model said, whole or partial. */
async function readOutput(unit: Unit, runId: string): Promise<RunOutput | null> {
  const last = await row<{ content: ContentBlock[]; files: AttachmentPart[] }>(
    unit.em,
    `select m.content, ${filesMadeSql} as files from messages m join runs r on r.id = m.run_id
      where m.run_id = ? and m.role = 'assistant' order by m.pos desc limit 1`,
    [runId],
  );
  if (!last) return null;
  const text = last.content.map((block) => (block.type === 'text' ? block.text : '')).join('');
  const json = last.content.find((block) => block.type === 'json');
  return { text: text === '' ? null : text, json: json?.type === 'json' ? json.value : null, attachments: last.files, truncated: false };
}

async function writeEnd(unit: Unit, run: RunState, end: FinishedRun): Promise<void> {
  const isDiscarded = end.status === 'cancelled' && run.cancel_policy === 'rollback';
  await rows(unit.em, `update messages set state = ? where run_id = ? and state = 'pending'`, [
    isDiscarded ? 'discarded' : 'committed',
    run.id,
  ]);
  await rows(
    unit.em,
    `update run_steps set status = ?, error = ?::jsonb, finished_at = clock_timestamp(), duration_ms = extract(epoch from clock_timestamp() - started_at) * 1000
      where run_id = ? and status = 'running'`,
    [end.status === 'cancelled' ? 'cancelled' : 'failed', end.error === null ? null : JSON.stringify(end.error), run.id],
  );
  const mayLeave: readonly RunStatus[] = ['queued', 'running', 'waiting', 'cancelling'];
  await rows(
    unit.em,
    `update runs set status = ?, finish_reason = ?, output = ?::jsonb, error = ?::jsonb, finished_at = ?::timestamptz, waiting_on = null, waiting_until = null,
            active_ms = coalesce((extract(epoch from ?::timestamptz - started_at) * 1000)::bigint, 0), queue_no = null, updated_at = ?::timestamptz
      where id = ? and status = any (?)`,
    [
      end.status,
      end.finishReason,
      end.output === null ? null : JSON.stringify(end.output),
      end.error === null ? null : JSON.stringify(end.error),
      end.finishedAt.toISOString(),
      end.finishedAt.toISOString(),
      end.finishedAt.toISOString(),
      run.id,
      mayLeave,
    ],
  );
}
