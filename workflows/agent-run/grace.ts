import { CancelledFailure, CancellationScope, sleep } from '@temporalio/workflow';

/** The work itself; once the scope is cancelled, at most `graceMs` more of it, which may depend on why. Work that has ended starts no timer. */
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
