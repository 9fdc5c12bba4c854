import { setTimeout as delay } from 'node:timers/promises';
import { Context } from '@temporalio/activity';
import { Failure } from '../../workflows/contracts/failure.ts';

const limitAwayMs = 300_000;
/** What has been spent is written down even if nobody waits for it any more, as long as a stopping worker has time. */
const limitUnwaitedMs = 20_000;
const firstPauseMs = 200;
const maxPauseMs = 2_000;

/**
 * Does work that would be dear to repeat from the start (an effect or an answer stands behind it) again and again while the database is away,
 * for at most five minutes and no longer than anybody waits for the activity. `work` must be repeatable, also after a commit whose answer was lost.
 */
export function whileAway<R>(work: () => Promise<R>): Promise<R> {
  const { cancellationSignal } = Context.current();
  return again(work, { limitMs: limitAwayMs, signal: cancellationSignal });
}

/** The same for what has to be known though the activity is over for everybody else: for at most 20 seconds, cancelled or not. */
export function evenUnwaited<R>(work: () => Promise<R>): Promise<R> {
  return again(work, { limitMs: limitUnwaitedMs });
}

async function again<R>(work: () => Promise<R>, until: { readonly limitMs: number; readonly signal?: AbortSignal }): Promise<R> {
  const end = Date.now() + until.limitMs;

  for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(pauseMs * 2, maxPauseMs)) {
    try {
      return await work();
    } catch (error) {
      const isAway = error instanceof Failure && error.code === 'service_unavailable';
      if (!isAway || until.signal?.aborted || Date.now() > end) throw error;
    }
    await delay(pauseMs, undefined, until.signal ? { signal: until.signal } : {}).catch(() => undefined);
  }
}
