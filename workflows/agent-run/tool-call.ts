import { ActivityFailure, ApplicationFailure, CancellationScope, CancelledFailure, sleep, TimeoutFailure } from '@temporalio/workflow';
import { activityFailureTypes, type PlannedCall, type SettleToolInput } from '../contracts/runs/agent-run.ts';
import { settleTool, toolActivity } from './activity-options.ts';
import { isFailureOfType, isRunCancellation } from './outcome.ts';
import { withGrace } from './grace.ts';

const maxGraceMs = 10_000;
const maxStartsAnew = 10;

/** `gated`: the call has no result yet; people have to decide what becomes of it. */
export type CallOutcome = 'over' | 'gated';

/** Works on one call until it has a result. What the activity left open is settled from the call's row, which alone knows whether it was claimed. */
export async function runToolCall(runId: string, call: PlannedCall): Promise<CallOutcome> {
  for (let anew = 1; ; anew++) {
    const cause = await execute(runId, call);

    if (cause === 'over' || cause === 'gated') return cause;
    const { again, gated } = await CancellationScope.nonCancellable(() => settleTool({ runId, toolCallId: call.toolCallId, cause }));

    if (cause === 'cancelled') throw new CancelledFailure('run cancelled');
    if (gated) return 'gated';
    if (!again) return 'over';
    if (anew === maxStartsAnew) throw ApplicationFailure.nonRetryable('The tool could not be started.', 'internal_error');
    await sleep(Math.min(1000 * 2 ** (anew - 1), 10_000));
  }
}

/** Returns how the call ended, or why it may not have ended. */
async function execute(runId: string, call: PlannedCall): Promise<CallOutcome | SettleToolInput['cause']> {
  try {
    const activity = toolActivity(call)({ runId, toolCallId: call.toolCallId });
    const result = await withGrace(activity, Math.min(call.timeoutS * 1000, maxGraceMs));

    return result?.gated === true ? 'gated' : 'over';
  } catch (error) {
    if (isRunCancellation(error)) return 'cancelled';
    if (!(error instanceof ActivityFailure) || isFailureOfType(error, activityFailureTypes.workerLost)) throw error;
    return error.cause instanceof TimeoutFailure && error.cause.timeoutType === 'START_TO_CLOSE' ? 'timeout' : 'lost';
  }
}
