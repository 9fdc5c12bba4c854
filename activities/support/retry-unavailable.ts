import { setTimeout as delay } from 'node:timers/promises';
import { Context } from '@temporalio/activity';
import { Failure } from '../../workflows/contracts/failure.ts';

const maxRetryMs = 300_000;
/** Spent amounts are recorded even when Temporal has given up the attempt, as long as a stopping worker has time. */
const maxRetryAfterCancelMs = 20_000;
const firstPauseMs = 200;
const maxPauseMs = 2_000;

/**
 * Retries work while the database is unavailable, for at most five minutes and no longer than Temporal waits for the activity: for results that would be
 * expensive to produce again. `work` must be idempotent, also after a commit whose reply was lost.
 */
export function retryWhileUnavailable<R>(work: () => Promise<R>): Promise<R> {
  const { cancellationSignal } = Context.current();
  return again(work, { maxMs: maxRetryMs, signal: cancellationSignal });
}

/** Does the same for what must be stored although the activity has been cancelled: for at most 20 seconds. */
export function retryDespiteCancellation<R>(work: () => Promise<R>): Promise<R> {
  return again(work, { maxMs: maxRetryAfterCancelMs });
}

async function again<R>(work: () => Promise<R>, until: { readonly maxMs: number; readonly signal?: AbortSignal }): Promise<R> {
  const end = performance.now() + until.maxMs;

  for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(pauseMs * 2, maxPauseMs)) {
    try {
      return await work();
    } catch (error) {
      const isUnavailable = error instanceof Failure && error.code === 'service_unavailable';
      if (!isUnavailable || until.signal?.aborted || performance.now() > end) throw error;
    }
    await delay(pauseMs, undefined, until.signal ? { signal: until.signal } : {}).catch(() => undefined);
  }
}
