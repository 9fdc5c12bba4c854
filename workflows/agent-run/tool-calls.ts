import { ActivityFailure, ApplicationFailure, CancellationScope, CancelledFailure, sleep, TimeoutFailure } from '@temporalio/workflow';
import { activityFailureTypes, type PlannedCall, type SettleToolInput } from '../contracts/agent-run.ts';
import { settleTool, toolActivity } from './activity-options.ts';
import { withGrace } from './grace.ts';
import { isFailureOfType, isRunCancellation } from './ending.ts';

const readsAtOnce = 8;
const mostGraceMs = 10_000;
const mostStartsAnew = 10;

/**
 * Executes the calls of one turn: reads up to eight at once, beside them the writes one after another in the model's
 * order. Returns when each has a result. A tool's own failure is such a result; the first other error stops the rest.
 */
export async function runCalls(runId: string, calls: readonly PlannedCall[]): Promise<void> {
  const open = calls.filter((call) => !call.isSettled);
  const isShared = (call: PlannedCall) => (call.concurrency ?? call.effect) === 'read';
  const reads = open.filter(isShared);
  const writes = open.filter((call) => !isShared(call));
  const scope = new CancellationScope();
  const errors: unknown[] = [];

  await scope.run(async () => {
    const lanes = [writes, ...Array.from({ length: Math.min(readsAtOnce, reads.length) }, () => reads)];

    await Promise.all(
      lanes.map((queue) =>
        runLane(runId, queue).catch((error: unknown) => {
          errors.push(error);
          scope.cancel();
        }),
      ),
    );
  });
  if (errors.length > 0) throw errors[0];
}

/** Takes one call after the other from a queue that several lanes may share. */
async function runLane(runId: string, queue: PlannedCall[]): Promise<void> {
  for (let call = queue.shift(); call; call = queue.shift()) {
    if (CancellationScope.current().consideredCancelled) throw new CancelledFailure('run cancelled');
    await runCall(runId, call);
  }
}

/** One call until it has a result. What the activity left open is settled from its row, which alone knows whether it was claimed. */
async function runCall(runId: string, call: PlannedCall): Promise<void> {
  for (let anew = 1; ; anew++) {
    const cause = await executeCall(runId, call);

    if (cause === null) return;
    const { again } = await CancellationScope.nonCancellable(() => settleTool({ runId, toolCallId: call.toolCallId, cause }));

    if (cause === 'cancelled') throw new CancelledFailure('run cancelled');
    if (!again) return;
    if (anew === mostStartsAnew) throw ApplicationFailure.nonRetryable('The tool could not be started.', 'internal_error');
    await sleep(Math.min(1000 * 2 ** (anew - 1), 10_000));
  }
}

/** Null when the activity stored a result, else why it may not have. */
async function executeCall(runId: string, call: PlannedCall): Promise<SettleToolInput['cause'] | null> {
  try {
    await withGrace(toolActivity(call)({ runId, toolCallId: call.toolCallId }), Math.min(call.timeoutS * 1000, mostGraceMs));

    return null;
  } catch (error) {
    if (isRunCancellation(error)) return 'cancelled';
    if (!(error instanceof ActivityFailure) || isFailureOfType(error, activityFailureTypes.workerLost)) throw error;
    return error.cause instanceof TimeoutFailure && error.cause.timeoutType === 'START_TO_CLOSE' ? 'timeout' : 'lost';
  }
}
