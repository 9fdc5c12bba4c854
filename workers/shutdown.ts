import type { Logger } from 'pino';

/** Returns a signal that the first SIGTERM or SIGINT aborts; a second one ends the process at once. */
export function shutdownSignal(log: Logger): AbortSignal {
  const controller = new AbortController();

  for (const name of ['SIGTERM', 'SIGINT'] as const) {
    process.on(name, () => {
      if (controller.signal.aborted) process.exit(1);
      log.info({ signal: name }, 'worker draining');
      controller.abort();
    });
  }
  return controller.signal;
}

/** Resources to close, in the reverse order of their opening. One that fails to close does not keep the others open. */
export class Closers {
  readonly #closers: { readonly what: string; readonly close: () => unknown }[] = [];

  add(what: string, close: () => unknown): void {
    this.#closers.push({ what, close });
  }

  async close(log: Logger): Promise<void> {
    for (const { what, close } of this.#closers.splice(0).toReversed()) {
      try {
        await close();
      } catch (err) {
        log.warn({ err, what }, 'could not close');
      }
    }
  }
}
