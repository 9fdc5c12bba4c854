import { ActivityFailure, ApplicationFailure, isCancellation, TimeoutFailure } from '@temporalio/workflow';
import { activityFailureTypes, type ActivityFailureDetails, type FinishRunInput } from '../contracts/runs/agent-run.ts';
import { errorCodes, type ErrorCode } from '../contracts/error-codes.ts';
import type { FinishReason } from '../contracts/runs/runs.ts';

/** How a run ends: the input of `finishRun` apart from the run's id. */
export type RunOutcome = Omit<FinishRunInput, 'runId'>;

/** The run has used up its time. */
export class DeadlinePassed extends Error {
  override readonly name = 'DeadlinePassed';
}

/** The run ends with this reason: a required answer did not come, or the answer itself ends the run. */
export class RunEnded extends Error {
  override readonly name = 'RunEnded';
  readonly reason: FinishReason;

  constructor(reason: FinishReason) {
    super(reason);
    this.reason = reason;
  }
}

/** Maps an error of the loop to the run's ending. Any unknown error becomes an internal error with a generic text. */
export function outcomeOf(error: unknown): RunOutcome {
  if (error instanceof DeadlinePassed) return { reason: 'timeout' };
  if (error instanceof RunEnded) return endingOfReason(error.reason);
  if (isRunCancellation(error)) return { reason: 'cancelled' };
  const cause = error instanceof ActivityFailure ? error.cause : error;

  if (cause instanceof TimeoutFailure) return endingOfTimeout(cause);
  if (cause instanceof ApplicationFailure) return endingOfFailure(cause);
  return failed('internal_error');
}

/** Whether an error says that the run was cancelled: by the workflow's cancellation, or by the row that an activity read. */
export function isRunCancellation(error: unknown): boolean {
  return isCancellation(error) || isFailureOfType(error, activityFailureTypes.cancelled);
}

/** Whether an activity has finally failed with a failure of this type. */
export function isFailureOfType(error: unknown, type: string): boolean {
  return error instanceof ActivityFailure && error.cause instanceof ApplicationFailure && error.cause.type === type;
}

function endingOfReason(reason: FinishReason): RunOutcome {
  return reason === 'budget_exceeded' ? { ...failed('budget_exceeded'), reason } : { reason };
}

function endingOfTimeout(timeout: TimeoutFailure): RunOutcome {
  switch (timeout.timeoutType) {
    case 'HEARTBEAT':
      return failed('internal_error', undefined, { reason: activityFailureTypes.workerLost });
    case 'START_TO_CLOSE':
      return failed('upstream_timeout');
    default:
      return failed('service_unavailable');
  }
}

function endingOfFailure(failure: ApplicationFailure): RunOutcome {
  const { reason, finishReason, retryable } = detailsOf(failure);

  if (failure.type === activityFailureTypes.workerLost)
    return failed('internal_error', undefined, { reason: activityFailureTypes.workerLost });
  if (!isErrorCode(failure.type)) return failed('internal_error');
  const outcome = failed(failure.type, failure.message, { reason, retryable });

  return finishReason ? { ...outcome, reason: finishReason } : outcome;
}

function detailsOf(failure: ApplicationFailure): ActivityFailureDetails {
  const [details] = failure.details ?? [];

  // Only our own activities make these failures, always with this shape or without details.
  return typeof details === 'object' && details !== null ? (details as ActivityFailureDetails) : {};
}

function failed(
  code: ErrorCode,
  message?: string,
  { reason, retryable }: Pick<ActivityFailureDetails, 'reason' | 'retryable'> = {},
): RunOutcome {
  const told = { ...(reason ? { reason } : {}), ...(retryable === undefined ? {} : { retryable }) };
  return { reason: 'error', error: { code, message: (message || errorCodes[code].title).slice(0, 1000), ...told } };
}

function isErrorCode(type: string | null | undefined): type is ErrorCode {
  return typeof type === 'string' && Object.hasOwn(errorCodes, type);
}
