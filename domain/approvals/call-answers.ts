import { followedTime } from '../../db/database-clock.ts';
import { argsHashOf } from '../../db/runs/calls/args-hash.ts';
import { identityOfCall, type CallState } from '../../db/runs/calls/call-state.ts';
import { resultWithoutOutput, type ToolResult } from '../../db/runs/run-frames.ts';
import { endCall, executingFrame, resultBatch } from '../runs/calls/tool-calls.ts';
import { stateBatch, type FrameBatch } from '../../db/streams/append.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';
import type { ApprovalRow } from '../../db/approvals/approval-view.ts';
import { setReady, openForClient } from '../../db/runs/calls/require-approval.ts';
import type { CallOutcome } from '../../db/runs/calls/call-rows.ts';

/**
 * Applies an answer, or the lack of one, to its call: the call may be executed, goes to its client, or gets its result. Returns the frames, which the caller
 * appends after the answer's own.
 */
export async function applyAnswer(tx: TenantTransaction, call: CallState, approval: ApprovalRow): Promise<FrameBatch[]> {
  switch (approval.status) {
    case 'approved':
      return readyCall(tx, call);
    case 'edited':
      return readyCall(tx, call, approval.editedArgs ?? call.args);
    case 'responded':
      return approval.reason === 'auth' ? readyCall(tx, call) : endHere(tx, call, respondedEnd(approval.response));
    case 'rejected':
      return endHere(tx, call, refusedEnd(call, withComment('A person rejected this call.', approval.comment)));
    case 'expired':
      return endHere(tx, call, refusedEnd(call, 'Nobody answered whether this call may be made, and it was not made.'));
    case 'pending':
    case 'cancelled':
      return [];
    default:
      return approval.status satisfies never;
  }
}

/** Denies a call like one that was rejected before, without asking again. */
export function denyRepeated(tx: TenantTransaction, call: CallState): Promise<FrameBatch[]> {
  return endHere(tx, call, refusedEnd(call, 'A call of this tool with the same arguments was rejected before; it was not made.'));
}

/** Makes a call that was asked about ready for execution; a client's call is handed to the client. */
export async function readyCall(
  tx: TenantTransaction,
  call: CallState,
  args: Readonly<Record<string, unknown>> = call.args,
): Promise<FrameBatch[]> {
  await setReady(tx, call.id, { args, argsHash: argsHashOf(args) });
  return call.clientOwned ? [await openClientCall(tx, call)] : [];
}

/** Hands a call to its client, with the tool's timeout, and opens its step. Returns the frame that announces it. */
export async function openClientCall(tx: TenantTransaction, call: CallState): Promise<FrameBatch> {
  const deadlineAt = await openForClient(tx, call);
  const deadline = new Date(deadlineAt ?? followedTime(tx.em)).toISOString();
  return stateBatch(identityOfCall(call), [executingFrame(call, deadline)]);
}

/** Ends a call whose client has let its time pass. */
export function expireClientCall(tx: TenantTransaction, call: CallState): Promise<FrameBatch[]> {
  const error = { code: 'timed_out', message: `no result within ${call.timeoutS} s`, retryable: true, reason: null };
  return endHere(tx, call, { state: 'timed_out', result: resultWithoutOutput('timed_out', error), rest: null });
}

async function endHere(tx: TenantTransaction, call: CallState, end: CallOutcome): Promise<FrameBatch[]> {
  const frame = await endCall(tx, call, null, end);
  // The frame's attempt lies above every try of the call: a try that still holds it is fenced from now on.
  return frame === null ? [] : [resultBatch(call, call.attempt + 1, frame)];
}

function respondedEnd(response: unknown): CallOutcome {
  const isText = typeof response === 'string';
  const chars = isText ? response.length : JSON.stringify(response ?? null).length;
  return { state: 'succeeded', result: resultOf('succeeded', response, { isText, chars }), rest: null };
}

/** The call was not made; a call that may have been made before its question is not recorded as denied. */
function refusedEnd(call: CallState, text: string): CallOutcome {
  if (call.gate === 'confirmation') {
    const message = 'The call was interrupted while it was executed; it may have happened, and it was not repeated.';
    const error = { code: 'outcome_unknown', message, retryable: false, reason: 'not_repeated' };
    return { state: 'unknown', result: resultWithoutOutput('failed', error), rest: null };
  }
  return { state: 'denied', result: resultOf('denied', text, { isText: true, chars: text.length }), rest: null };
}

function resultOf(
  status: 'succeeded' | 'denied',
  output: unknown,
  { isText, chars }: { readonly isText: boolean; readonly chars: number },
): ToolResult {
  return {
    status,
    output,
    outputType: isText ? 'text' : 'json',
    truncated: false,
    cached: false,
    totalChars: chars,
    error: null,
    durationMs: null,
  };
}

function withComment(text: string, comment: string | null): string {
  return comment === null || comment === '' ? text : `${text} ${comment}`;
}
