import { ApplicationFailure } from '@temporalio/common';
import type { ModelUsage } from '../../../db/billing/ledger/usage.ts';
import type { RetryCause } from '../../../db/streams/frame.schema.ts';
import type { StepError, StepRetry } from '../../../db/runs/run-types.ts';
import { workerFrozen } from '../../../db/runs/steps/retries.ts';
import { endFailedTry, settleTry, yieldTry, type EndedTry } from '../../../domain/runs/steps/tries.ts';
import type { StepWait } from '../../../workflows/contracts/runs/agent-run.ts';
import type { ErrorCode } from '../../../workflows/contracts/error-codes.ts';
import { Failure, fail } from '../../../workflows/contracts/failure.ts';
import type { ActivityDeps } from '../../deps.ts';
import { transactAsRun } from '../../runs/as-run.ts';
import type { ActivityAbort } from '../../support/abort.ts';
import { fenced, givenUp, giveUp, isFenced, runCancelled, workerShutdown } from '../../support/failures.ts';
import { retryDespiteCancellation, retryWhileUnavailable } from '../../support/retry-unavailable.ts';
import { isWorthAnotherRun, ModelAborted, ModelError, reasonOf, retryCauseOf, type ModelErrorClass } from './model-error.ts';
import { callKeyOf, usageOf, type ModelTry } from '../model-try.ts';
import type { ModelFinish } from '../step.ts';
import { contextTooLongCode, maxPauseMs, pauseMs, triesPerModel, triesWithError } from './tries.ts';

/** Tries that may fail for an error of our own before the run ends with it: each may have paid for a model call. */
const maxOwnErrors = 5;

export interface FailedTryFacts {
  readonly modelTry: ModelTry;
  readonly abort: ActivityAbort;
  readonly error: unknown;
  /** Set when the model had returned its whole answer and only storing it failed: the call is paid for all the same. */
  readonly finished: ModelFinish | null;
}

/** The try has failed, and the next one is so far away that the run itself waits for it, not the activity. */
export class StepWaiting {
  readonly wait: StepWait;

  constructor(wait: StepWait) {
    this.wait = wait;
  }
}

/**
 * Settles what a failed try may have cost and records why it failed. Returns the failure to throw: retried after a pause, retried with the next fallback, or
 * final. Returns StepWaiting, which is no failure, when the step is retried after a wait of the run.
 */
export async function onFailedTry(deps: ActivityDeps, { modelTry, abort, error, finished }: FailedTryFacts): Promise<unknown> {
  const tokens = finished?.usage ?? (error instanceof ModelError || error instanceof ModelAborted ? error.usage : null);
  // The provider bills a complete answer under its id, stored or not.
  const spent = tokens && usageOf(deps, modelTry, tokens, finished?.providerRequestId ?? null);
  const cause = abort.cause();
  if (cause === 'fenced' || isFenced(error)) {
    await giveWay(deps, modelTry, spent);
    return fenced();
  }
  if (cause === 'cancelled') {
    await settle(deps, modelTry, spent);
    return runCancelled();
  }
  if (cause === 'shutdown') {
    await record(
      deps,
      modelTry,
      { cause: 'shutdown', error: stepErrorOf('service_unavailable', 'The worker is stopping.', 'shutdown'), delayMs: 0 },
      spent,
    );
    return workerShutdown();
  }
  if (cause === 'unawaited') {
    const stepError = stepErrorOf(workerFrozen, 'The worker was frozen.', null);
    await record(deps, modelTry, { cause: 'worker_lost', error: stepError, delayMs: 0 }, spent);
    return givenUp();
  }
  if (error instanceof ModelError) return onModelError(deps, modelTry, error);
  const { reason } = abort.signal;
  if (reason instanceof Failure && reason.code !== 'upstream_timeout') return onOtherError(deps, modelTry, reason, spent);
  if (cause === 'timeout' || error instanceof ModelAborted)
    return onModelError(deps, modelTry, new ModelError('StreamIdle', { message: 'The model took too long.', usage: tokens }));
  return onOtherError(deps, modelTry, error, spent);
}

async function onModelError(deps: ActivityDeps, modelTry: ModelTry, error: ModelError): Promise<unknown> {
  const { opened } = modelTry;
  const errors = triesWithError(opened.retries) + 1;
  const isLastOfModel = errors % triesPerModel === 0;
  const isLast = errors >= triesPerModel * opened.run.manifest.models.length;
  const isShortened = isTooLongAnew(error, modelTry);
  const delayMs = isLastOfModel ? 0 : pauseMs((errors - 1) % triesPerModel, error.retryAfterMs);
  const retryable = isWorthAnotherRun(error);
  const stepError: StepError = { ...stepErrorOf(codeOf(error.class), error.message, reasonOf(error.class)), retryable };
  const shown = isShortened ? { ...stepError, code: contextTooLongCode } : stepError;
  logModelError(deps, modelTry, error);
  await record(
    deps,
    modelTry,
    { cause: retryCauseOf(error.class), error: shown, delayMs },
    error.usage && usageOf(deps, modelTry, error.usage, null),
  );

  const failure = fail(codeOf(error.class), { reason: reasonOf(error.class), detail: error.message });
  if ((!error.retryable && !isShortened) || isLast)
    return giveUp(failure, { retryable, finishReason: error.class === 'ContentRefused' ? 'refused' : undefined });
  if (delayMs > maxPauseMs) return new StepWaiting({ on: 'timer', untilMs: deps.db.clock.now().getTime() + delayMs });
  return ApplicationFailure.create({
    message: failure.detail,
    type: failure.code,
    nonRetryable: false,
    nextRetryDelay: Math.max(1, delayMs),
    details: [{ reason: reasonOf(error.class) }],
  });
}

/** Logs for the operator what the provider said, and the ids to find the call there. */
function logModelError(deps: ActivityDeps, { opened, step, model }: ModelTry, error: ModelError): void {
  const { class: error_class, message, status, providerCode, providerRequestId } = error;
  deps.log.warn(
    {
      run_id: opened.run.id,
      step,
      attempt: opened.attempt,
      model: model.id,
      error_class,
      status,
      provider_code: providerCode,
      provider_request_id: providerRequestId,
      message,
    },
    'model call failed',
  );
}

/** A prompt that the provider refuses as too long is sent once more with a shorter conversation, unless the revision forbids it. */
function isTooLongAnew(error: ModelError, { opened }: ModelTry): boolean {
  if (error.class !== 'ContextTooLong' || opened.document.context.on_overflow === 'fail') return false;
  return !opened.retries.some((retry) => retry.error_code === contextTooLongCode);
}

/** Errors of our own. A final failure stays final; any other error is recorded in the row and retried. */
async function onOtherError(deps: ActivityDeps, modelTry: ModelTry, error: unknown, spent: ModelUsage | null): Promise<unknown> {
  if (error instanceof ApplicationFailure) {
    await settle(deps, modelTry, spent);
    return error;
  }
  const code: ErrorCode = error instanceof Failure ? error.code : 'internal_error';
  const stepError = stepErrorOf(code, 'The step was interrupted.', null);
  await record(deps, modelTry, { cause: 'worker_lost', error: stepError, delayMs: 1_000 }, spent).catch((err: unknown) =>
    deps.log.warn({ err }, 'failed try not recorded'),
  );
  const ownErrors = modelTry.opened.retries.filter(isOwnError).length + 1;
  return ownErrors < maxOwnErrors ? error : giveUp(error instanceof Failure ? error : fail('internal_error', { cause: error }));
}

function isOwnError({ cause, error_code: code }: StepRetry): boolean {
  return cause === 'worker_lost' && code !== null && code !== workerFrozen;
}

interface Recorded {
  readonly cause: RetryCause;
  readonly error: StepError;
  readonly delayMs: number;
}

/** Records in one transaction why the try failed and what it cost. Unrecorded, it would count as a lost worker. */
function record(deps: ActivityDeps, modelTry: ModelTry, recorded: Recorded, spent: ModelUsage | null): Promise<void> {
  const persist = recorded.cause === 'shutdown' ? retryDespiteCancellation : retryWhileUnavailable;
  return persist(() => transactAsRun(deps, modelTry.opened.run.id, (tx) => endFailedTry(tx, endedTry(modelTry, spent), recorded)));
}

function settle(deps: ActivityDeps, modelTry: ModelTry, spent: ModelUsage | null): Promise<void> {
  return retryDespiteCancellation(() => transactAsRun(deps, modelTry.opened.run.id, (tx) => settleTry(tx, endedTry(modelTry, spent))));
}

function giveWay(deps: ActivityDeps, modelTry: ModelTry, spent: ModelUsage | null): Promise<void> {
  return retryDespiteCancellation(() => transactAsRun(deps, modelTry.opened.run.id, (tx) => yieldTry(tx, endedTry(modelTry, spent))));
}

function endedTry(modelTry: ModelTry, usage: ModelUsage | null): EndedTry {
  const { opened, step, terms } = modelTry;
  return { run: opened.run, step, attempt: opened.attempt, usage, holdKey: terms.isCounted ? callKeyOf(modelTry) : null };
}

function stepErrorOf(code: ErrorCode | typeof workerFrozen, message: string, reason: string | null): StepError {
  return { code, message: message.slice(0, 1_000).toWellFormed(), retryable: code !== 'validation_failed', reason };
}

function codeOf(errorClass: ModelErrorClass): ErrorCode {
  return errorClass === 'StreamIdle' ? 'upstream_timeout' : 'upstream_failed';
}
