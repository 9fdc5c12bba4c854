import { ApplicationFailure } from '@temporalio/common';
import { activityFailureTypes, type ActivityFailureDetails } from '../../workflows/contracts/runs/agent-run.ts';
import { Failure } from '../../workflows/contracts/failure.ts';
import { errorCodes } from '../../workflows/contracts/error-codes.ts';
import type { FinishReason } from '../../workflows/contracts/runs/runs.ts';

/**
 * Returns the failure as Temporal and the workflow read it: its type is the code, its message is for users, `retryable` decides whether it is retried, and
 * Retry-After when. It has no cause or stack of ours: histories hold no internals. Any unknown error becomes a retryable internal error with a generic text.
 */
export function toApplicationFailure(error: unknown): ApplicationFailure {
  if (error instanceof ApplicationFailure) return error;
  if (!(error instanceof Failure)) return ApplicationFailure.retryable(errorCodes.internal_error.title, 'internal_error');
  return translate(error, !error.retryable);
}

/** What the run's outcome adds to the failure: another reason than `error`, and `retryable` where it differs from the code's. */
export interface GivenUp {
  readonly finishReason?: FinishReason | undefined;
  readonly retryable?: boolean;
}

/** Returns a failure that is never retried, whatever its code says. */
export function giveUp(failure: Failure, end: GivenUp = {}): ApplicationFailure {
  return translate(failure, true, end);
}

/** Three tries ended without result or error: the run ends, so that it costs no further worker. */
export function workerLost(): ApplicationFailure {
  return ApplicationFailure.nonRetryable('The work was interrupted three times.', activityFailureTypes.workerLost);
}

/** The run is cancelling or has ended; the workflow ends it as its row says. */
export function runCancelled(): ApplicationFailure {
  return ApplicationFailure.nonRetryable('The run was cancelled.', activityFailureTypes.cancelled);
}

const fencedType = 'fenced';

/**
 * Another try has taken over the step or call, and Temporal waits for that one, so this failure is normally ignored. If Temporal still reads it, the work is
 * done once more.
 */
export function fenced(): ApplicationFailure {
  return ApplicationFailure.retryable('Another try has taken over.', fencedType);
}

const givenUpType = 'given_up';

/** Temporal has given up this attempt and scheduled another, so this failure is ignored. */
export function givenUp(): ApplicationFailure {
  return ApplicationFailure.retryable('Nobody waits for this attempt any more.', givenUpType);
}

/** Whether a failure is `givenUp`. */
export function isGivenUpFailure(error: unknown): boolean {
  return error instanceof ApplicationFailure && error.type === givenUpType;
}

/** Whether a failure is `fenced`. */
export function isFenced(error: unknown): boolean {
  return error instanceof ApplicationFailure && error.type === fencedType;
}

/** This worker stops; the next attempt goes on. */
export function workerShutdown(): ApplicationFailure {
  return ApplicationFailure.retryable('The worker is stopping.', activityFailureTypes.shutdown);
}

function translate(failure: Failure, nonRetryable: boolean, { finishReason, retryable }: GivenUp = {}): ApplicationFailure {
  const { reason } = failure.context;
  // A pause of a second that suits a client does not suit us: with the database unavailable for a minute, all tries would be used up. The activity's own
  // backoff grows.
  const pauseS = failure.code === 'service_unavailable' ? null : failure.retryAfterS;
  const details: ActivityFailureDetails = {
    ...(typeof reason === 'string' ? { reason } : {}),
    ...(retryable === undefined ? {} : { retryable }),
    ...(finishReason ? { finishReason } : failure.code === 'budget_exceeded' ? { finishReason: 'budget_exceeded' } : {}),
  };

  return ApplicationFailure.create({
    message: failure.detail,
    type: failure.code,
    nonRetryable,
    details: [details],
    ...(pauseS === null ? {} : { nextRetryDelay: pauseS * 1000 }),
  });
}
