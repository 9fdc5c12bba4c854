import { CancelledFailure, CancellationScope, sleep } from '@temporalio/workflow';

/** The work itself; once the scope is cancelled, at most `graceMs` more of it. Work that has ended starts no timer. */
export function withGrace<R>(work: Promise<R>, graceMs: number): Promise<R> {
  let isOver = false;
  const watched = work.finally(() => {
    isOver = true;
  });
  const endOfGrace = CancellationScope.current().cancelRequested.catch(async (): Promise<never> => {
    if (!isOver) await CancellationScope.nonCancellable(() => sleep(graceMs));
    throw new CancelledFailure('grace is over');
  });

  return Promise.race([watched, endOfGrace]);
}
