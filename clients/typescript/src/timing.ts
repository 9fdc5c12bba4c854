/** Resolves after a time; rejects with the signal's reason as soon as it aborts. */
export function delay(milliseconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason as Error); // whatever the caller gave
    const stop = () => {
      clearTimeout(timer);
      reject(signal?.reason as Error); // as above
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop);
      resolve();
    }, milliseconds);
    signal?.addEventListener('abort', stop, { once: true });
    return undefined;
  });
}

/** Full jitter: anything up to a limit that doubles with each failure, and never exceeds 8 s. */
export function jitter(failures: number, baseMs = 250): number {
  return Math.random() * Math.min(8_000, baseMs * 2 ** failures);
}

/** A signal of our own that aborts with another one, too, until it is released. */
export class LinkedAbort {
  readonly #controller = new AbortController();
  readonly #from: AbortSignal | undefined;
  readonly #follow = () => this.abort(this.#from?.reason);

  constructor(from: AbortSignal | undefined) {
    this.#from = from;
    if (from?.aborted) this.#follow();
    else from?.addEventListener('abort', this.#follow, { once: true });
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  abort(reason?: unknown): void {
    this.#controller.abort(reason);
  }

  /** A signal of the caller outlives its calls, and would keep each of them. */
  release(): void {
    this.#from?.removeEventListener('abort', this.#follow);
  }
}
