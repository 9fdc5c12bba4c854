import { isLate } from '../../ports/deadline.ts';
import { ModelError } from './errors/model-error.ts';

/** Set once the answer is complete: its reader bounds the time of what remains. */
export interface Finishing {
  readonly isFinished: boolean;
}

export interface Patience {
  readonly firstTokenS: number;
  readonly idleS: number;
}

/** Ends a call that stays silent for too long, or that its caller aborts. Lives as long as the call. */
export class Watch {
  /** Why this side ended the call: a ModelError, or the reason of the caller's signal. */
  stopped: { readonly reason: unknown } | null = null;
  readonly #controller = new AbortController();
  readonly #callerSignal: AbortSignal;
  readonly #patience: Patience;
  readonly #finishing: Finishing;
  #timer: NodeJS.Timeout;
  #dueAt: number;
  #isWaiting = false;
  #hasBegun = false;
  #interrupt: (error: Error) => void = () => undefined;

  constructor(callerSignal: AbortSignal, patience: Patience, finishing: Finishing) {
    this.#callerSignal = callerSignal;
    this.#patience = patience;
    this.#finishing = finishing;
    this.#timer = setTimeout(this.#onSilence, patience.firstTokenS * 1_000);
    this.#dueAt = performance.now() + patience.firstTokenS * 1_000;
    callerSignal.addEventListener('abort', this.#onAbort, { once: true });
    if (callerSignal.aborted) this.#onAbort();
  }

  /** Aborted when the call must end. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Waits for the provider; only this time counts as its silence. Rejects as soon as the call is stopped. */
  async waitFor<T>(answer: Promise<T>): Promise<T> {
    this.#isWaiting = true;
    try {
      return await new Promise<T>((resolve, reject) => {
        this.#interrupt = reject;
        if (this.stopped) reject(new Error('stopped'));
        answer.then(resolve, reject);
      });
    } finally {
      this.#isWaiting = false;
    }
  }

  /** Records that something arrived: from now on the gap between parts counts. */
  progress(): void {
    this.#dueAt = performance.now() + this.#patience.idleS * 1_000;
    if (this.#hasBegun) {
      this.#timer.refresh();
      return;
    }

    this.#hasBegun = true;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(this.#onSilence, this.#patience.idleS * 1_000);
  }

  /** Ends the request if it is still open, and clears the timers. */
  close(): void {
    clearTimeout(this.#timer);
    this.#callerSignal.removeEventListener('abort', this.#onAbort);
    this.#controller.abort(new DOMException('the call has ended', 'AbortError'));
  }

  readonly #onAbort = () => this.#stop(this.#callerSignal.reason);

  readonly #onSilence = () => {
    if (!this.#isWaiting || this.#finishing.isFinished) return; // the consumer is slow, not the provider, or the answer is complete
    if (isLate(this.#dueAt)) return this.#giveTurn();
    const { firstTokenS, idleS } = this.#patience;
    this.#stop(
      new ModelError('StreamIdle', {
        message: this.#hasBegun ? `the model sent nothing for ${idleS} s` : `the model did not begin to answer within ${firstTokenS} s`,
      }),
    );
  };

  /** This process was frozen, not the provider: what the provider has sent meanwhile is read first. */
  #giveTurn(): void {
    const { firstTokenS, idleS } = this.#patience;
    const ms = (this.#hasBegun ? idleS : firstTokenS) * 1_000;
    this.#dueAt = performance.now() + ms;
    this.#timer.refresh();
  }

  #stop(reason: unknown): void {
    if (this.stopped) return;
    this.stopped = { reason };
    this.#interrupt(new Error('stopped'));
    this.#controller.abort(new DOMException('the call was ended', 'AbortError'));
  }
}
