import type { StepRetry } from '../../../db/runs/run-types.ts';

/** Tries with an error that one model gets before the next fallback is asked. */
export const triesPerModel = 4;

/** What a lost try says when the provider refused the prompt as too long: the next one is sent a shorter conversation, once. */
export const contextTooLongCode = 'context_too_long';

/** A longer pause that a provider asks for is a wait of the run: no activity and no retry of one lasts that long. */
export const maxPauseMs = 60_000;

/** Tries that ended with an error of the model; lost workers and shutdowns are counted elsewhere or not at all. */
export function triesWithError(retries: readonly StepRetry[]): number {
  return retries.filter((retry) => retry.cause !== 'worker_lost' && retry.cause !== 'shutdown').length;
}

/** Pause before the next try of the same model: 1 s doubling to 30 s, or what the provider asks for. */
export function pauseMs(errorsOfModel: number, retryAfterMs: number | null): number {
  return retryAfterMs ?? Math.min(1_000 * 2 ** errorsOfModel, 30_000);
}
