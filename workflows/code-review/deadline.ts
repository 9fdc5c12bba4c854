import { CancellationScope, sleep } from '@temporalio/workflow';
import { DeadlinePassed, isRunCancellation } from '../agent-run/outcome.ts';

/** The time that a run may take. */
export interface Deadline {
  /**
   * Runs the work and cancels it when the time is over. Then throws DeadlinePassed, also for work that would begin later; otherwise passes on what the work
   * throws.
   */
  within<R>(work: () => Promise<R>): Promise<R>;
  /** To be called when the run is over. */
  stop(): void;
}

/** One timer for all work of a run; work outside of `within` is always completed. */
export function startDeadline(leftMs: number): Deadline {
  const clock = new CancellationScope();
  let isOver = leftMs <= 0;
  let body: CancellationScope | null = null;
  if (!isOver)
    clock
      .run(() => sleep(leftMs))
      .then(() => {
        isOver = true;
        body?.cancel();
      })
      .catch(() => undefined);

  return {
    async within(work) {
      if (isOver) throw new DeadlinePassed();
      body = new CancellationScope();
      try {
        return await body.run(work);
      } catch (error) {
        throw isOver && isRunCancellation(error) ? new DeadlinePassed() : error;
      } finally {
        body = null;
      }
    },
    stop: () => clock.cancel(),
  };
}

/** For histories from before deadlines existed: no deadline. */
export const noDeadline: Deadline = { within: (work) => work(), stop: () => undefined };
