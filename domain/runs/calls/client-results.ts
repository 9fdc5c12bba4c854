import canonicalize from 'canonicalize';
import { agentRunSignals } from '../../../workflows/contracts/runs/agent-run.ts';
import { truncateText } from '../../../workflows/contracts/truncate-text.ts';
import { fail, invalid } from '../../../workflows/contracts/failure.ts';
import { workflowIds } from '../../../workflows/contracts/queues.ts';
import { newId } from '../../../db/ids.ts';
import { addOutboxAll } from '../../../db/outbox.ts';
import type { FrameBatch } from '../../../db/streams/append.ts';
import type { TenantTransaction } from '../../../db/tenant-transaction.ts';
import { isOpen, lockCalls, type CallState, type StoredResult, readStoredResults } from '../../../db/runs/calls/call-state.ts';
import type { RunState } from '../../../db/runs/run-state.ts';
import { endCall, resultBatch } from './tool-calls.ts';
import { settleStatuses } from '../waiting.ts';
import type { CallOutcome } from '../../../db/runs/calls/call-rows.ts';

/** The result that a client reports for a call that it has executed. */
export interface ClientResult {
  readonly tool_call_id: string;
  readonly status: 'succeeded' | 'failed';
  readonly output?: unknown;
  /** Message for the model when the call failed. */
  readonly message?: string | null;
}

/** Results for calls of a run and of its descendants; `runs` are locked (`lockRunsOfCalls`). */
export interface ClientResults {
  readonly runId: string;
  readonly runs: readonly RunState[];
  readonly results: readonly ClientResult[];
}

/**
 * Writes the results of calls that the client executes, all or none. Repeating the same result changes nothing. Throws 422 for an id that is no call of the run
 * or a descendant, 409 `not_awaited` for a call that is not the client's or has ended otherwise, `result_recorded` for a result other than the stored one.
 */
export async function addClientResults(tx: TenantTransaction, { runId, runs, results }: ClientResults): Promise<void> {
  const below = runs.filter((run) => run.id === runId || run.lineage.includes(runId)).map(({ id }) => id);
  const ids = results.map((result) => result.tool_call_id);
  const calls = new Map((await lockCalls(tx, below, ids)).map((call) => [call.id, call]));
  const stored = await readStoredResults(tx, [...calls.keys()]);
  const due = results.flatMap((result, at) => {
    const call = calls.get(result.tool_call_id);
    if (!call)
      throw invalid(`/results/${at}/tool_call_id`, 'reference', 'The run and its descendants have no such call.', { kind: 'tool_call' });
    const end = endOf(call, result);
    refuseUnawaited(call, end, stored.get(call.id));
    return isOpen(call) ? [{ call, end }] : [];
  });
  if (due.length === 0) return;

  const lead: FrameBatch[] = [];
  for (const { call, end } of due) {
    const frame = await endCall(tx, call, null, end);
    // The frame's attempt lies above every try of the call, so that no try can append for the call any more.
    if (frame !== null) lead.push(resultBatch(call, call.attempt + 1, frame));
  }
  await settleStatuses(tx, runs, { lead });
  await addOutboxAll(
    tx,
    [...new Set(due.map(({ call }) => call.runId))].map((id) => ({
      message: { kind: 'workflow.signal', workflowId: workflowIds.run(id), signal: agentRunSignals.resultsAdded },
      dedupeKey: `results:${newId()}`,
    })),
  );
}

function refuseUnawaited(call: CallState, end: CallOutcome, stored: StoredResult | undefined): void {
  const context = { tool_call_id: call.id };
  if (call.clientOwned && (call.state === 'ready' || call.state === 'executing') && isOpen(call)) return;
  if (!call.clientOwned || stored === undefined)
    throw fail('state_conflict', { reason: 'not_awaited', detail: 'This call is not waiting for a result.', context });

  const isSame =
    call.state === end.state && canonicalize([stored.output, stored.error]) === canonicalize([end.result.output ?? null, end.result.error]);
  if (!isSame) throw fail('state_conflict', { reason: 'result_recorded', detail: 'The call already has a different result.', context });
}

/** The result as the model and the watchers get it, truncated at the tool's limit. */
function endOf(call: CallState, { status, output, message }: ClientResult): CallOutcome {
  const isText = typeof output === 'string';
  const text = isText ? output : output === undefined || output === null ? '' : JSON.stringify(output);
  const isTooLong = text.length > call.responseMaxChars;
  const shown = isTooLong ? truncateText(text, call.responseMaxChars) : (output ?? (status === 'succeeded' ? '' : null));
  const error =
    status === 'succeeded'
      ? null
      : { code: 'upstream_status', message: messageOf(message, text, call.responseMaxChars), retryable: false, reason: 'client_failed' };
  return {
    state: status,
    result: {
      status,
      output: shown,
      outputType: isTooLong || typeof shown === 'string' ? 'text' : 'json',
      truncated: isTooLong,
      cached: false,
      totalChars: text.length,
      error,
      durationMs: null,
    },
    rest: isTooLong ? text : null,
  };
}

function messageOf(message: string | null | undefined, text: string, maxChars: number): string {
  return message || truncateText(text, Math.min(maxChars, 2_000)) || 'The client could not execute this call.';
}
