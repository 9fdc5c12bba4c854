import { CancelledFailure, CancellationScope, sleep } from '@temporalio/workflow';

/**
 * Returns the result of the work. Once the scope is cancelled, the work gets at most `graceMs` more, which may depend on the cause, before CancelledFailure is
 * thrown. Work that has ended starts no timer.
 */
export function withGrace<R>(work: Promise<R>, graceMs: number | (() => number)): Promise<R> {
  let isOver = false;
  const watched = work.finally(() => {
    isOver = true;
  });
  const endOfGrace = CancellationScope.current().cancelRequested.catch(async (): Promise<never> => {
    const leftMs = typeof graceMs === 'number' ? graceMs : graceMs();

    if (!isOver && leftMs > 0) await CancellationScope.nonCancellable(() => sleep(leftMs));
    throw new CancelledFailure('grace is over');
  });

  return Promise.race([watched, endOfGrace]);
}
