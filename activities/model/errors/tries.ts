import type { StepRetry } from '../../../db/runs/run-types.ts';

/** Failed tries that one model gets before the next fallback is called. */
export const triesPerModel = 4;

/** Error code of a failed try whose prompt the provider refused as too long: the next try sends a shorter conversation, once. */
export const contextTooLongCode = 'context_too_long';

/** When a provider asks for a longer pause, the run itself waits: no activity and no retry of one lasts that long. */
export const maxPauseMs = 60_000;

/** Counts the tries that ended with an error of the model; lost workers and shutdowns are counted elsewhere or not at all. */
export function triesWithError(retries: readonly StepRetry[]): number {
  return retries.filter((retry) => retry.cause !== 'worker_lost' && retry.cause !== 'shutdown').length;
}

/** Pause before the next try of the same model: 1 s doubling to 30 s, or what the provider asks for. */
export function pauseMs(errorsOfModel: number, retryAfterMs: number | null): number {
  return retryAfterMs ?? Math.min(1_000 * 2 ** errorsOfModel, 30_000);
}
