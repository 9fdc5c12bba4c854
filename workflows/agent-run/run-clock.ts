import { CancellationScope, condition, isCancellation, sleep } from '@temporalio/workflow';
import { DeadlinePassed, isRunCancellation } from './outcome.ts';
import type { RunLoop } from './run-loop.ts';

/** Interval at which the time of a waiting run is checked: it starts at the first value and doubles up to the second. */
const firstPauseMs = 30_000;
const maxPauseMs = 3_600_000;

/** Runs `work` and stops it when the run's time is over. There is one timer per run, none per step, so a step's history stays short. */
export async function withinTime(loop: RunLoop, remainingMs: number, work: () => Promise<void>): Promise<void> {
  if (remainingMs <= 0) throw new DeadlinePassed();
  const body = new CancellationScope();
  const clock = new CancellationScope();
  let isOver = false;

  clock
    .run(() => untilTimeIsOver(loop, remainingMs))
    .then(() => {
      isOver = true;
      body.cancel();
    })
    .catch(() => undefined);
  try {
    await body.run(work);
  } catch (error) {
    throw isOver && isRunCancellation(error) ? new DeadlinePassed() : error;
  } finally {
    clock.cancel();
  }
}

/** Waiting does not count: once a run may have waited, only its row knows how much time is left, within the 30 days that a run may live. */
async function untilTimeIsOver(loop: RunLoop, remainingMs: number): Promise<void> {
  await sleep(remainingMs);
  for (let pauseMs = firstPauseMs; loop.hasWaited;) {
    const seen = loop.waitsEnded;
    const check = await checkTime(loop);

    if (check.leftMs <= 0) return;
    if (check.isWaiting) {
      await condition(() => loop.waitsEnded !== seen, Math.max(check.leftMs, pauseMs));
      pauseMs = Math.min(pauseMs * 2, maxPauseMs);
    } else {
      await sleep(check.leftMs);
      pauseMs = firstPauseMs;
    }
  }
}

/** An ended run has no time left. While the database is unavailable the clock stops. */
async function checkTime({ runId, bounds }: RunLoop): Promise<{ readonly leftMs: number; readonly isWaiting: boolean }> {
  try {
    const begun = await bounds.beginRun({ runId });

    return begun.done ? { leftMs: 0, isWaiting: false } : { leftMs: begun.remainingMs, isWaiting: begun.isWaiting === true };
  } catch (error) {
    if (isCancellation(error)) throw error;
    return { leftMs: firstPauseMs, isWaiting: false };
  }
}
