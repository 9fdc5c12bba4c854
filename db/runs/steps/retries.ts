import { sql } from 'kysely';
import type { StepRetry } from '../run-types.ts';

/**
 * `retries` of a step's row after the claim of a new try. A try that left neither result nor error is recorded as lost with its worker. Every try has at
 * most one entry, so fewer entries than tries means that the last try left nothing.
 */
export const retriesWithLost = sql<StepRetry[]>`case when jsonb_array_length(run_steps.retries) < run_steps.attempt
  then run_steps.retries || jsonb_build_array(jsonb_build_object('attempt', run_steps.attempt, 'cause', 'worker_lost', 'error_code', null, 'delay_ms', 0,
         'at', to_char(clock_timestamp() at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')))
  else run_steps.retries end`;

/** `retries` of a new step's row. */
export const noRetries = sql<StepRetry[]>`'[]'`;

/** Returns the number of tries whose worker died: they left neither result nor error, and no later report says that the worker was only frozen. */
export function lostEntries(retries: readonly StepRetry[]): number {
  return retries.filter((retry) => retry.cause === 'worker_lost' && retry.error_code === null).length;
}

/** Code of a try that was taken for lost although its worker lives. */
export const workerFrozen = 'stood_still';
