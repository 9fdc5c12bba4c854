import { Context } from '@temporalio/activity';
import type { CancelBus } from '../../db/streams/cancel-bus.ts';
import { isGivenUp, isLost } from './stale-attempt.ts';
import { runCancelled, workerShutdown } from './failures.ts';

/**
 * Why an activity should stop: its run is cancelled, its worker stops, a later attempt of the same step or call has begun, or a limit has passed, which is the
 * activity's own (`timeout`) or that of an attempt that Temporal has given up (`unawaited`).
 */
export type AbortCause = 'cancelled' | 'shutdown' | 'timeout' | 'fenced' | 'unawaited';

export interface ActivityAbort {
  /** For every outgoing call. Its reason is the failure to throw. */
  readonly signal: AbortSignal;
  /** The first cause; null while there is none. */
  cause(): AbortCause | null;
  /** Aborts from within, for a limit of the activity's own. */
  abort(cause: AbortCause, reason?: unknown): void;
  /** Stops listening; to be called when the activity ends. */
  close(): void;
}

export interface AbortSources {
  readonly runId: string;
  readonly cancelBus: CancelBus;
  /** Further signals, above all that of the activity's frame writer: aborted with 'fenced', 'ended', 'cancelled' or a Failure. */
  readonly signals?: readonly AbortSignal[];
  /** For tests: how long an attempt that was given up goes on. */
  readonly unawaitedMs?: number;
}

/**
 * The work of a given-up attempt may still count, as long as no other attempt has taken its place. It is aborted only after this time, and not while Temporal
 * has lost its workflow, since the run then waits for it by its row.
 */
const maxUnawaitedMs = 60_000;

/** Combines every way in which an activity learns that it should stop into one signal; the first one wins. */
export function openAbort({ runId, cancelBus, signals = [], unawaitedMs = maxUnawaitedMs }: AbortSources): ActivityAbort {
  const context = Context.current();
  const controller = new AbortController();
  const closing = new AbortController();
  let first: AbortCause | null = null;
  const abort = (cause: AbortCause, reason?: unknown): void => {
    if (first !== null) return;
    first = cause;
    controller.abort(reason ?? reasonOf(cause));
  };
  const listen = (signal: AbortSignal, onAbort: () => void): void => {
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort, { once: true, signal: closing.signal });
  };

  listen(context.cancellationSignal, () => {
    if (!isGivenUp(context)) return abort(context.cancellationDetails?.workerShutdown ? 'shutdown' : 'cancelled');
    const endUnlessLost = async (): Promise<void> => {
      if (!(await isLost(context))) abort('unawaited');
    };
    const timer = setInterval(() => void endUnlessLost(), unawaitedMs);
    closing.signal.addEventListener('abort', () => clearInterval(timer));
  });
  for (const signal of signals)
    listen(signal, () => abort(causeOfSignal(signal), signal.reason instanceof Error ? signal.reason : undefined));
  const stopListening = cancelBus.onCancelled((cancelled) => {
    if (cancelled === runId) abort('cancelled');
  });

  return {
    signal: controller.signal,
    cause: () => first,
    abort,
    close: () => {
      closing.abort();
      stopListening();
    },
  };
}

function causeOfSignal({ reason }: AbortSignal): AbortCause {
  if (reason === 'fenced') return 'fenced';
  return reason instanceof Error ? 'timeout' : 'cancelled';
}

function reasonOf(cause: AbortCause): unknown {
  switch (cause) {
    case 'cancelled':
      return runCancelled();
    case 'shutdown':
      return workerShutdown();
    case 'timeout':
    case 'fenced':
    case 'unawaited':
      // Temporal waits for this attempt no more; its error is not read.
      return new DOMException(`attempt ${cause}`, 'AbortError');
    default:
      return cause satisfies never;
  }
}
