import type { Socket } from 'node:net';
import PQueue from 'p-queue';
import { fail, type Failure } from '../../workflows/contracts/failure.ts';
import { toFailure } from '../http/reply/error-envelope.ts';
import type { HubLimits } from './limits.ts';

/** A stream's opening asks the database twice: who calls, and whether the run may be watched. */
export type OpeningStep = 'caller' | 'run';

export interface Openings {
  /** Runs one step in its turn: what was begun is finished first. 503 when the turn has not come in time, or when the process drains. */
  inTurn<R>(step: OpeningStep, socket: Socket, work: () => Promise<R>): Promise<R>;
}

/**
 * Few openings ask the database at once, so that thousands of clients who come back together wait for each other, and neither run into the
 * limit on waiting for a connection nor keep other requests from theirs. Who has left loses the turn. While nobody is answered nobody waits long:
 * behind a database that stands still every turn takes as long as a statement needs to fail of that.
 */
export function createOpenings(
  { openingsAtOnce, openingMs, openingSilentMs }: Pick<HubLimits, 'openingsAtOnce' | 'openingMs' | 'openingSilentMs'>,
  draining: AbortSignal,
): Openings {
  const queue = new PQueue({ concurrency: openingsAtOnce });
  let answeredAt = 0;
  const noteAnswer = () => void (answeredAt = performance.now());

  return {
    async inTurn(step, socket, work) {
      const waiting = new AbortController();
      const giveUp = (failure: () => Failure) => () => waiting.abort(failure());
      const left = giveUp(() => fail('service_unavailable', { detail: 'The client has disconnected.' }));
      const drained = giveUp(() => fail('service_unavailable', { reason: 'draining', retryAfterS: 1 }));
      const late = giveUp(() => fail('service_unavailable', { detail: 'Too many streams are being opened at once.', retryAfterS: 5 }));
      const since = performance.now();
      const look = () => {
        const leftMs = Math.min(since + openingMs, Math.max(since, answeredAt) + openingSilentMs) - performance.now();
        if (leftMs <= 0) late();
        else timer = setTimeout(look, leftMs);
      };
      let timer = setTimeout(look, Math.min(openingMs, openingSilentMs));
      socket.once('close', left);
      draining.addEventListener('abort', drained);
      if (draining.aborted) drained();
      if (socket.destroyed) left();
      const stopWaiting = () => {
        clearTimeout(timer);
        socket.off('close', left);
        draining.removeEventListener('abort', drained);
      };

      try {
        return await queue.add(
          () => {
            stopWaiting();
            const answer = work();
            answer.then(noteAnswer, (error: unknown) => toFailure(error).code === 'service_unavailable' || noteAnswer());
            return answer;
          },
          { priority: step === 'run' ? 1 : 0, signal: waiting.signal },
        );
      } finally {
        stopWaiting();
      }
    },
  };
}
