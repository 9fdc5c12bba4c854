import { setTimeout as delay } from 'node:timers/promises';
import { Context } from '@temporalio/activity';
import { Failure } from '../../workflows/contracts/failure.ts';

const limitAwayMs = 300_000;
const firstPauseMs = 200;
const mostPauseMs = 2_000;

/**
 * Does work that would be dear to repeat from the start (an effect or an answer stands behind it) again and again while the database is away,
 * for at most five minutes and no longer than anybody waits for the activity. `work` must be repeatable, also after a commit whose answer was lost.
 */
export async function whileAway<R>(work: () => Promise<R>): Promise<R> {
  const { cancellationSignal } = Context.current();
  const end = Date.now() + limitAwayMs;

  for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(pauseMs * 2, mostPauseMs)) {
    try {
      return await work();
    } catch (error) {
      const isAway = error instanceof Failure && error.code === 'service_unavailable';
      if (!isAway || cancellationSignal.aborted || Date.now() > end) throw error;
    }
    await delay(pauseMs, undefined, { signal: cancellationSignal }).catch(() => undefined);
  }
}
