import type { Socket } from 'node:net';
import PQueue from 'p-queue';
import { fail, type Failure } from '../../workflows/contracts/failure.ts';
import { toFailure } from '../http/reply/error-envelope.ts';
import type { HubLimits } from './limits.ts';

/** A stream connect queries the database twice: for the caller, and for the run that it may watch. */
export type ConnectStep = 'caller' | 'run';

export interface ConnectQueue {
  /** Runs one step from the queue; connects that have begun go first. Throws 503 if the wait is too long, the client disconnects, or the process drains. */
  run<R>(step: ConnectStep, socket: Socket, work: () => Promise<R>): Promise<R>;
}

/**
 * Limits the stream connects that query the database at once. Thousands of clients that reconnect together thus wait for each other, and neither exceed the
 * time limit for a database connection nor keep connections from other requests. A client that disconnects leaves the queue. While no query completes, none
 * waits long: if the database does not respond, each query takes until its statement times out.
 */
export function createConnectQueue(
  { maxConnectsAtOnce, maxConnectMs, maxConnectSilentMs }: Pick<HubLimits, 'maxConnectsAtOnce' | 'maxConnectMs' | 'maxConnectSilentMs'>,
  draining: AbortSignal,
): ConnectQueue {
  const queue = new PQueue({ concurrency: maxConnectsAtOnce });
  let answeredAt = 0;
  const recordAnswer = () => void (answeredAt = performance.now());

  return {
    async run(step, socket, work) {
      const waiting = new AbortController();
      const giveUp = (failure: () => Failure) => () => waiting.abort(failure());
      const left = giveUp(() => fail('service_unavailable', { detail: 'The client has disconnected.' }));
      const drained = giveUp(() => fail('service_unavailable', { reason: 'draining', retryAfterS: 1 }));
      const late = giveUp(() => fail('service_unavailable', { detail: 'Too many streams are being opened at once.', retryAfterS: 5 }));
      const since = performance.now();
      const check = () => {
        const leftMs = Math.min(since + maxConnectMs, Math.max(since, answeredAt) + maxConnectSilentMs) - performance.now();
        if (leftMs <= 0) late();
        else timer = setTimeout(check, leftMs);
      };
      let timer = setTimeout(check, Math.min(maxConnectMs, maxConnectSilentMs));
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
            answer.then(recordAnswer, (error: unknown) => toFailure(error).code === 'service_unavailable' || recordAnswer());
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
