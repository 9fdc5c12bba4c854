import { ModelError } from './errors.ts';

/** Ends a call that stays silent for too long, or that its caller gives up. */
export interface Watch {
  /** Aborted when the call must end; its reason says why. */
  readonly signal: AbortSignal;
  /** Why the call was ended from here: a ModelError, or the reason of the caller's signal. */
  readonly stopped: { readonly reason: unknown } | null;
  /** Waits for the provider; only this time counts as its silence. Rejects as soon as the call is stopped. */
  waitFor<T>(answer: Promise<T>): Promise<T>;
  /** Something came: from now on the gap between parts counts. */
  progress(): void;
  /** Ends the request if it is still open, and the timers. */
  close(): void;
}

export interface Patience {
  readonly firstTokenS: number;
  readonly idleS: number;
}

export function createWatch(callerSignal: AbortSignal, patience: Patience): Watch {
  const controller = new AbortController();
  let stopped: { reason: unknown } | null = null;
  let isWaiting = false;
  let hasBegun = false;
  let rejectWaiting: (error: Error) => void = () => undefined;

  function stop(reason: unknown): void {
    if (stopped) return;
    stopped = { reason };
    rejectWaiting(new Error('stopped'));
    controller.abort(new DOMException('the call was ended', 'AbortError'));
  }

  const onAbort = () => stop(callerSignal.reason);
  const onSilence = () => {
    if (!isWaiting) return; // the consumer takes its time, not the provider
    const message = hasBegun ? `the model sent nothing for ${patience.idleS} s` : `the model did not begin to answer within ${patience.firstTokenS} s`;
    stop(new ModelError('StreamIdle', { message }));
  };
  let timer = setTimeout(onSilence, patience.firstTokenS * 1_000);
  callerSignal.addEventListener('abort', onAbort, { once: true });
  if (callerSignal.aborted) onAbort();

  return {
    signal: controller.signal,
    get stopped() {
      return stopped;
    },
    async waitFor(answer) {
      isWaiting = true;
      try {
        return await new Promise((resolve, reject) => {
          rejectWaiting = reject;
          if (stopped) reject(new Error('stopped'));
          answer.then(resolve, reject);
        });
      } finally {
        isWaiting = false;
      }
    },
    progress() {
      if (hasBegun) {
        timer.refresh();
        return;
      }
      hasBegun = true;
      clearTimeout(timer);
      timer = setTimeout(onSilence, patience.idleS * 1_000);
    },
    close() {
      clearTimeout(timer);
      callerSignal.removeEventListener('abort', onAbort);
      controller.abort(new DOMException('the call has ended', 'AbortError'));
    },
  };
}
