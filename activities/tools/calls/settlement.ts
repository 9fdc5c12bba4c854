import { resultWithoutOutput } from '../../../db/runs/run-frames.ts';
import { isRepeatable, type CallState } from '../../../db/runs/calls/call-state.ts';
import type { TenantTransaction } from '../../../db/tenant-transaction.ts';
import { filesEnd, retainedFor, recordFiles, storeFiles } from '../../attachments/keep-files.ts';
import type { ActivityDeps } from '../../deps.ts';
import { cleanText } from '../../model/wire/plain-text.ts';
import { toolError, type ToolError, type ToolOutcome } from './outcome.ts';
import { capOutput } from './output.ts';
import type { CallOutcome } from '../../../db/runs/calls/call-rows.ts';

/** Writes what belongs to a result, in its transaction, and returns the outcome of the call. */
export type Settlement = (tx: TenantTransaction) => Promise<CallOutcome>;

/** Files are stored before the transaction that records them. */
export async function settlementOf(deps: ActivityDeps, call: CallState, outcome: ToolOutcome, signal: AbortSignal): Promise<Settlement> {
  if (outcome.status !== 'succeeded' || outcome.type !== 'files') {
    const end = endOf(call, outcome);
    return async () => end;
  }
  const { maxBytes, scan } = deps.env.attachments;
  const kept = await storeFiles(deps.storage, outcome, { organizationId: call.organizationId, maxBytes, signal });
  const recorded = { stored: kept.stored, isScanned: scan !== null };
  return async (tx) => filesEnd(await recordFiles(tx, retainedFor(call), recorded), kept.text, call.responseMaxChars);
}

function endOf(call: CallState, outcome: Exclude<ToolOutcome, { readonly type: 'files' }>): CallOutcome {
  if (outcome.status !== 'succeeded') {
    if (outcome.mayHaveHappened && !isRepeatable(call)) {
      return failedEnd(
        'unknown',
        outcome.status,
        toolError('outcome_unknown', `${outcome.error.message}; the call may have happened.`, false, outcome.error.code),
      );
    }
    return failedEnd(outcome.status, outcome.status, outcome.error);
  }
  const capped = capOutput(outcome, call.responseMaxChars);
  return {
    state: 'succeeded',
    result: {
      status: 'succeeded',
      output: capped.output,
      outputType: capped.type,
      truncated: capped.truncated,
      cached: outcome.cached ?? false,
      totalChars: capped.totalChars,
      error: null,
      durationMs: null,
    },
    rest: capped.rest,
  };
}

export function failedEnd(state: CallOutcome['state'], status: 'failed' | 'timed_out', error: ToolError): CallOutcome {
  return {
    state,
    result: resultWithoutOutput(status, { ...error, message: cleanText(error.message) }),
    rest: null,
  };
}
