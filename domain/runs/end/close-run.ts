import type { FrameDraft } from '../../../db/streams/frame.schema.ts';
import { readOpenMessage } from '../../../db/streams/open-messages.ts';
import type { TenantTransaction } from '../../../db/tenant-transaction.ts';
import { isRepeatable, type CallState } from '../../../db/runs/calls/call-state.ts';
import { endChildCall } from '../children/child-end.ts';
import { measureEnd } from './measure-run.ts';
import { messageFrame, resultWithoutOutput, type FinishedRun, type RunOutput, type StopReason } from '../../../db/runs/run-frames.ts';
import type { RunState } from '../../../db/runs/run-state.ts';
import type { ContentBlock } from '../../../db/runs/run-types.ts';
import { endCall } from '../calls/tool-calls.ts';
import type { CallOutcome } from '../../../db/runs/calls/call-rows.ts';
import { readChild } from '../../../db/runs/children/child-rows.ts';
import { insertPartialMessage, readLastAnswer, settleMessages, closeSteps, writeFinished } from '../../../db/runs/end/end-rows.ts';

/**
 * Gives every open call a result, so that a provider accepts the history: cancelled, or unknown where a write may have happened. A child's call gets the
 * child's outcome. The caller has locked the calls.
 */
export async function closeCalls(tx: TenantTransaction, calls: readonly CallState[]): Promise<FrameDraft[]> {
  const frames: FrameDraft[] = [];
  for (const call of calls) frames.push(...(await closeCall(tx, call)));
  return frames;
}

async function closeCall(tx: TenantTransaction, call: CallState): Promise<readonly FrameDraft[]> {
  const child = call.childRunId === null ? null : await readChild(tx, call.childRunId);
  if (child !== null) return endChildCall(tx, call, child);
  const frame = await endCall(tx, call, null, cancelledEnd(call));
  return frame === null ? [] : [frame];
}

/** The outcome of a call that is stopped from outside. */
export function cancelledEnd(call: CallState): CallOutcome {
  // A call that awaits confirmation after a lost try may have happened as well.
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

/** Stores messages that were being streamed as far as they got. */
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

/** The model's last answer, complete or partial; null when the turn is discarded. */
export async function readOutput(tx: TenantTransaction, run: RunState, end: Pick<FinishedRun, 'status'>): Promise<RunOutput | null> {
  if (isDiscarded(run, end)) return null;
  const last = await readLastAnswer(tx, run.id);
  if (!last) return null;
  const text = last.content.map((block) => (block.type === 'text' ? block.text : '')).join('');
  const json = last.content.find((block) => block.type === 'json');
  return { text: text === '' ? null : text, json: json?.type === 'json' ? json.value : null, attachments: last.files, truncated: false };
}

/** Cancelled with rollback, or before it began: the turn is discarded with its input. */
function isDiscarded(run: RunState, end: Pick<FinishedRun, 'status'>): boolean {
  return end.status === 'cancelled' && (run.cancel_policy === 'rollback' || run.started_at === null);
}

/** Commits or discards the turn, closes open steps, writes the run's end. */
export async function writeEnd(tx: TenantTransaction, run: RunState, end: FinishedRun): Promise<void> {
  await settleMessages(tx, run.id, isDiscarded(run, end) ? 'discarded' : 'committed');
  await closeSteps(tx, run.id, { status: end.status === 'cancelled' ? 'cancelled' : 'failed', error: end.error });
  await writeFinished(tx, run.id, end);
  measureEnd(tx, run, end);
}
