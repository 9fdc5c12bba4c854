import type { StepSpan } from '../../../ports/telemetry/origin.ts';
import { followedTime } from '../../../db/database-clock.ts';
import { appendFrames, type FrameBatch } from '../../../db/streams/append.ts';
import type { AttachmentPart, ContentBlock } from '../../../db/streams/frame-parts.schema.ts';
import type { FrameDraft, RetryCause } from '../../../db/streams/frame.schema.ts';
import type { TenantTransaction } from '../../../db/tenant-transaction.ts';
import { identityOfCall, type CallState } from '../../../db/runs/calls/call-state.ts';
import { toolCallFrame, toolResultFrame, type ToolResult } from '../../../db/runs/run-frames.ts';
import type { StepRetry } from '../../../db/runs/run-types.ts';
import { insertToolMessages } from '../../../db/runs/calls/tool-messages.ts';
import {
  type CallOutcome,
  keepWholeOutput,
  closeToolStep,
  addRetry,
  writeClaim,
  openToolStep,
  writeCallEnd,
} from '../../../db/runs/calls/call-rows.ts';

/**
 * Records why a try of a call ended without a result, so that it doesn't count as lost: its worker stops (`shutdown`), or a person has to decide what becomes
 * of the call.
 */
export async function recordRetry(
  tx: TenantTransaction,
  call: CallState,
  { attempt, cause, code }: { readonly attempt: number; readonly cause: RetryCause; readonly code: string | null },
): Promise<void> {
  const retry: StepRetry = { attempt, cause, error_code: code, at: followedTime(tx.em).toISOString(), delay_ms: 0 };
  await addRetry(tx, call, retry);
}

/**
 * Claims a try of a call, in a commit of its own before any effect: ready → executing, attempt raised, frame written. From here on only a repeatable call may
 * be executed again.
 */
export async function claimCall(tx: TenantTransaction, call: CallState, span: StepSpan | null = null): Promise<number> {
  const attempt = call.attempt + 1;
  const deadlineAt = await writeClaim(tx, call.id, attempt);
  await openToolStep(tx, call, attempt, span);
  const deadline = new Date(deadlineAt ?? followedTime(tx.em)).toISOString();
  await appendFrames(tx, [{ ...batchOf(call, attempt), batch: 1, frames: [executingFrame(call, deadline)] }]);
  return attempt;
}

/**
 * Ends a call once: row, answer for the model, step. Returns the result frame for the caller to append, or null when the call had ended or a later try holds
 * it; the result is dropped then. With `attempt` null the call ends whichever try holds it.
 */
export async function endCall(
  tx: TenantTransaction,
  call: CallState,
  attempt: number | null,
  end: CallOutcome,
): Promise<FrameDraft | null> {
  const ended = await endCallBeside(tx, call, attempt, end);
  return ended && ended.frame;
}

/** A call that has ended. `hasWaits`: other calls of its run wait for people, clients or children, so that the run may now be waiting. */
export interface EndedCall {
  readonly frame: FrameDraft;
  readonly hasWaits: boolean;
}

/** Does the same, and also returns whether the run's state has to be settled (`settleStatus`) once this is committed. */
export async function endCallBeside(
  tx: TenantTransaction,
  call: CallState,
  attempt: number | null,
  end: CallOutcome,
): Promise<EndedCall | null> {
  const { result } = end;
  // A transaction that opens a wait locks all open calls: either this statement sees the wait, or that transaction sees this end.
  const closed = await writeCallEnd(tx, call.id, { attempt, end });
  if (!closed) return null;

  if (end.rest !== null) await keepWholeOutput(tx, call, end.rest);
  await insertToolMessages(tx, { ...call, id: call.runId }, [
    { toolCallId: call.id, step: call.step, pos: call.messagePos + 1 + call.pos, content: contentOf(result) },
  ]);
  await closeToolStep(tx, call, end, result.error);
  const frame = toolResultFrame({ id: call.runId }, call.id, { ...result, durationMs: closed.durationMs });
  return { frame, hasWaits: closed.hasWaits };
}

/** Appends a call's result under the call's own scope, so that a try that was replaced can add nothing. */
export async function appendResult(tx: TenantTransaction, call: CallState, attempt: number, frame: FrameDraft): Promise<void> {
  await appendFrames(tx, [resultBatch(call, attempt, frame)]);
}

/** Returns a call's result as a batch of a larger change. */
export function resultBatch(call: CallState, attempt: number, frame: FrameDraft): FrameBatch {
  return { ...batchOf(call, attempt), batch: 2, frames: [frame] };
}

function batchOf(call: CallState, attempt: number) {
  return { run: identityOfCall(call), scope: `c:${call.id}`, attempt };
}

/** Announces that a call is executed from now on, here or by its client, and until when. */
export function executingFrame(call: CallState, deadline: string): FrameDraft {
  const identity = {
    toolCallId: call.id,
    messageId: call.messageId,
    toolId: call.toolId,
    slug: call.slug,
    kind: call.kind,
    effect: call.effect,
    critical: call.critical,
    clientOwned: call.clientOwned,
  };
  return toolCallFrame(identity, { phase: 'executing', deadline_at: deadline });
}

function contentOf(result: ToolResult): ContentBlock[] {
  if (result.error === null) return outputBlocks(result);
  const told: ContentBlock = { type: 'text', text: result.error.message };
  return result.output === null ? [told] : [...outputBlocks(result), told];
}

function outputBlocks(result: ToolResult): ContentBlock[] {
  if (result.outputType === 'json') return [{ type: 'json', value: result.output }];
  // The model reads the first block; the files after it are for people.
  if (result.outputType === 'attachment') return [{ type: 'json', value: result.output }, ...(result.files ?? []).map(attachmentBlock)];
  return [{ type: 'text', text: String(result.output ?? '') }];
}

function attachmentBlock(file: AttachmentPart): ContentBlock {
  return { type: 'attachment', ...file };
}
