import { expect, test } from '@jest/globals';
import { ActivityFailure, ApplicationFailure, CancelledFailure, TimeoutFailure } from '@temporalio/common';
import { giveUp, runCancelled, toApplicationFailure, workerLost, workerShutdown } from '../../activities/support/failures.ts';
import { DeadlinePassed, outcomeOf } from '../../workflows/agent-run/outcome.ts';
import { errorCodeNames, errorCodes } from '../../workflows/contracts/error-codes.ts';
import { fail } from '../../workflows/contracts/failure.ts';

test.each(errorCodeNames)("%s reaches the run's end with its code, message and reason", (code) => {
  const failure = toApplicationFailure(fail(code, { detail: 'What happened.', reason: 'why' }));
  const ending = outcomeOf(activityFailure(failure));

  expect(failure.nonRetryable).toBe(!errorCodes[code].retryable);
  expect(ending).toEqual({
    reason: code === 'budget_exceeded' ? 'budget_exceeded' : 'error',
    error: { code, message: 'What happened.', reason: 'why' },
  });
});

test('Retry-After decides when the next try comes', () => {
  expect(toApplicationFailure(fail('rate_limited', { retryAfterS: 7 })).nextRetryDelay).toBe(7000);
});

test('while the database is away the growing pause of the activity counts, so that a minute does not use up its tries', () => {
  expect(toApplicationFailure(fail('service_unavailable', { retryAfterS: 1 })).nextRetryDelay).toBeUndefined();
});

test('an unknown error says nothing of itself and may be tried again', () => {
  const failure = toApplicationFailure(new Error('password=secret'));

  expect(failure).toMatchObject({ type: 'internal_error', message: errorCodes.internal_error.title });
  expect(failure.nonRetryable).toBeFalsy();
  expect(failure.cause).toBeUndefined();
});

test('giving up ends with the named reason and is not tried again', () => {
  const failure = giveUp(fail('upstream_timeout'), { finishReason: 'timeout' });

  expect(failure.nonRetryable).toBe(true);
  expect(outcomeOf(activityFailure(failure)).reason).toBe('timeout');
});

test('a run that kills its workers ends as lost', () => {
  expect(outcomeOf(activityFailure(workerLost()))).toMatchObject({
    reason: 'error',
    error: { code: 'internal_error', reason: 'worker_lost' },
  });
  expect(outcomeOf(activityFailure(new TimeoutFailure('', undefined, 'HEARTBEAT')))).toMatchObject({ error: { reason: 'worker_lost' } });
});

test.each([
  ['START_TO_CLOSE', 'upstream_timeout'],
  ['SCHEDULE_TO_CLOSE', 'service_unavailable'],
] as const)("an activity's %s timeout is %s", (timeoutType, code) => {
  expect(outcomeOf(activityFailure(new TimeoutFailure('', undefined, timeoutType))).error?.code).toBe(code);
});

test('cancellations end as cancelled, the deadline as timeout, everything else as an internal error', () => {
  expect(outcomeOf(new CancelledFailure('x'))).toEqual({ reason: 'cancelled' });
  expect(outcomeOf(activityFailure(new CancelledFailure('x')))).toEqual({ reason: 'cancelled' });
  expect(outcomeOf(activityFailure(runCancelled()))).toEqual({ reason: 'cancelled' });
  expect(outcomeOf(new DeadlinePassed())).toEqual({ reason: 'timeout' });
  expect(outcomeOf(new TypeError('x of undefined'))).toEqual({
    reason: 'error',
    error: { code: 'internal_error', message: errorCodes.internal_error.title },
  });
  expect(outcomeOf(activityFailure(ApplicationFailure.nonRetryable('raw', 'SomeLibraryError'))).error?.message).toBe(
    errorCodes.internal_error.title,
  );
});

test("a stopping worker's failure is tried again", () => {
  expect(workerShutdown().nonRetryable).toBeFalsy();
});

function activityFailure(cause: Error): ActivityFailure {
  return new ActivityFailure('Activity task failed', 'callModel', '1', 'MAXIMUM_ATTEMPTS_REACHED', 'test', cause);
}
