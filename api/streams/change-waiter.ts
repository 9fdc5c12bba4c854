import type { Hub } from './hub.ts';
import type { Watcher } from './run-channel.ts';
import { isStateChange } from './stream-frame.ts';

const maxLookBytes = 4 * 1024 * 1024;

/** Resolves true at the first change of the run's state behind `afterSeq` (or when it can't be told), false at the timeout or abort. */
export function waitForChange(
  hub: Hub,
  runId: string,
  { afterSeq, timeoutMs, signal }: { readonly afterSeq: number; readonly timeoutMs: number; readonly signal?: AbortSignal },
): Promise<boolean> {
  const stop = signal ? AbortSignal.any([signal, hub.draining]) : hub.draining;
  if (stop.aborted) return Promise.resolve(false);

  return new Promise((resolve) => {
    const channel = hub.channel({ runId, headSeq: afterSeq, isEnded: false });
    const watcher: Watcher = { wake: look, lose: () => finish(true) };
    const timer = setTimeout(giveUp, timeoutMs);
    let cursor = afterSeq;
    hub.watch(channel, watcher);
    stop.addEventListener('abort', giveUp);
    look();

    function look(): void {
      // Behind the ring nobody looks: the caller reads the run's row, which knows better.
      if (channel.handedOut > cursor && channel.ring.firstSeq > cursor + 1) return finish(true);
      const frames = channel.ring.after(cursor, maxLookBytes);
      cursor = frames.at(-1)?.seq ?? cursor;
      if (channel.isEnded || frames.some(isStateChange)) finish(true);
    }

    function giveUp(): void {
      finish(false);
    }

    function finish(hasChanged: boolean): void {
      clearTimeout(timer);
      stop.removeEventListener('abort', giveUp);
      hub.unwatch(channel, watcher);
      resolve(hasChanged);
    }
  });
}
