import type { Hub } from './hub.ts';
import type { Watcher } from './run-channel.ts';
import { isStateChange } from './stream-frame.ts';

const maxPollBytes = 4 * 1024 * 1024;

/**
 * Resolves to true at the first change of the run's state after `afterSeq`, or if that is unknown (ring too short, run purged); to false at timeout or abort.
 */
export function waitForChange(
  hub: Hub,
  runId: string,
  { afterSeq, timeoutMs, signal }: { readonly afterSeq: number; readonly timeoutMs: number; readonly signal?: AbortSignal },
): Promise<boolean> {
  const stop = signal ? AbortSignal.any([signal, hub.draining]) : hub.draining;
  if (stop.aborted) return Promise.resolve(false);

  return new Promise((resolve) => {
    const channel = hub.channel({ runId, headSeq: afterSeq, isEnded: false });
    const watcher: Watcher = { wake: check, lose: () => finish(true) };
    const timer = setTimeout(giveUp, timeoutMs);
    let cursor = afterSeq;
    hub.watch(channel, watcher);
    stop.addEventListener('abort', giveUp);
    check();

    function check(): void {
      // Nothing older than the ring is read here: the waiting request reads the run's row instead.
      if (channel.handedOut > cursor && channel.ring.firstSeq > cursor + 1) return finish(true);
      const frames = channel.ring.after(cursor, maxPollBytes);
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
