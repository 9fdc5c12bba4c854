import PQueue from 'p-queue';
import { fail } from '../../workflows/contracts/failure.ts';
import type { HubLimits } from './limits.ts';

/** A stream's opening asks the database twice: who calls, and whether the run may be watched. */
export type OpeningStep = 'caller' | 'run';

export interface Openings {
  /** Runs one step in its turn: what was begun is finished first. 503 when the turn has not come in time. */
  inTurn<R>(step: OpeningStep, work: () => Promise<R>): Promise<R>;
}

/**
 * Few openings ask the database at once, so that thousands of clients who come back together wait for each other, and neither run into the
 * limit on waiting for a connection nor keep other requests from theirs.
 */
export function createOpenings({ openingsAtOnce, openingMs }: Pick<HubLimits, 'openingsAtOnce' | 'openingMs'>): Openings {
  const queue = new PQueue({ concurrency: openingsAtOnce });

  return {
    inTurn: (step, work) => {
      const askedAt = performance.now();
      return queue.add(
        () => {
          if (performance.now() - askedAt > openingMs)
            throw fail('service_unavailable', { detail: 'Too many streams are being opened.', retryAfterS: 5 });
          return work();
        },
        { priority: step === 'run' ? 1 : 0 },
      );
    },
  };
}
