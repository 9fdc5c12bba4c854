import { requireApproval } from '../../../domain/runs/calls/require-approval.ts';
import { isOpen, isRepeatable, lockCall, lostTries, type CallState } from '../../../db/runs/calls/call-state.ts';
import { cancelledEnd } from '../../../domain/runs/end/close-run.ts';
import { leaveChild, settleChild } from '../../../domain/runs/children/settle-child.ts';
import type { TenantTransaction } from '../../../db/tenant-transaction.ts';
import type { SettleToolInput, SettleToolResult } from '../../../workflows/contracts/runs/agent-run.ts';
import type { ActivityDeps } from '../../deps.ts';
import { transactAsRun } from '../../runs/as-run.ts';
import { endAndSettle, isCritical } from './end-call.ts';
import { toolError } from './outcome.ts';
import { failedEnd } from './settlement.ts';
import type { CallOutcome } from '../../../db/runs/calls/call-rows.ts';

/** Tries of a call that may be lost with their workers before its run ends, or its model gets the error. */
export const maxTries = 3;

/** Decides on a call whose activity is over without a result, from its row: execute it again, put it up for approval, or end it with what is known. */
export async function settleTool(deps: ActivityDeps, input: SettleToolInput): Promise<SettleToolResult> {
  const { runId, toolCallId, cause } = input;
  const transact = <R>(work: (tx: TenantTransaction) => Promise<R>) => transactAsRun(deps, runId, work);
  if (cause === 'child') return settleChild({ transact }, input);
  let again = false;
  let hasChild = false;
  const { gated } = await endAndSettle(deps, input, async (tx) => {
    const call = await lockCall(tx, runId, toolCallId);
    hasChild = call?.childRunId !== undefined && call.childRunId !== null;
    // The outcome of a child is the result of its call.
    if (!call || !isOpen(call) || hasChild) return null;
    const isStopped = cause === 'cancelled' || call.runStatus === 'cancelling';
    if (!isStopped && (call.state === 'recorded' || call.state === 'gated')) return 'gated';
    again = !isStopped && (call.state !== 'executing' || (cause === 'lost' && isRepeatable(call) && lostTries(call) < maxTries));
    if (again) return null;

    const end = settledEnd(call, cause);
    const isInDoubt = !isStopped && end.state === 'unknown' && isCritical(call);
    if (isInDoubt && (await requireApproval(tx, call, 'confirmation'))) return 'gated';
    return { call, attempt: null, end };
  });
  if (hasChild) await leaveChild({ transact }, input);
  return gated ? { again, gated } : { again };
}

function settledEnd(call: CallState, cause: SettleToolInput['cause']): CallOutcome {
  if (cause === 'cancelled' || call.runStatus === 'cancelling') return cancelledEnd(call);
  if (!isRepeatable(call)) {
    return failedEnd(
      'unknown',
      'failed',
      toolError('outcome_unknown', 'The call was interrupted while it was executed; it may have happened.', false),
    );
  }
  if (cause === 'timeout') return failedEnd('timed_out', 'timed_out', toolError('timed_out', `no result within ${call.timeoutS} s`, true));
  return failedEnd('failed', 'failed', toolError('tool_unavailable', 'the call was interrupted three times', true, 'worker_lost'));
}
