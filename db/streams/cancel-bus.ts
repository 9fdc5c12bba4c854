import type { Logger } from 'pino';
import { streamKeys } from './keys.ts';
import { connectRedis } from './redis.ts';

/** Notices that only speed things up: a lost one costs seconds, since appends, heartbeats and the 5 s check report the same. */
export interface CancelBus {
  /** Listens for runs with a requested cancel. Returns the function that stops listening. */
  onCancelled(listener: (runId: string) => void): () => void;
  /** Listens for principals whose open streams must be checked at once. Returns the function that stops listening. */
  onRevoked(listener: (principals: readonly string[]) => void): () => void;
  close(): Promise<void>;
}

export interface CancelBusDeps {
  readonly redisUrl: string;
  readonly prefix: string;
  readonly log: Logger;
}

/** A dead server is noticed within one ping and the socket's 3 s timeout. */
const pingEveryMs = 2_000;

export function createCancelBus({ redisUrl, prefix, log }: CancelBusDeps): CancelBus {
  const keys = streamKeys(prefix);
  const cancelled = new Set<(runId: string) => void>();
  const revoked = new Set<(principals: readonly string[]) => void>();
  const redis = connectRedis(redisUrl, 'subscriber', (error) => log.debug({ err: error }, 'notices interrupted'));

  redis.on('message', (channel: string, message: string) => {
    if (channel === keys.cancelChannel) for (const listener of cancelled) listener(message);
    if (channel === keys.revokedChannel) for (const listener of revoked) listener(message.split(' '));
  });
  redis.subscribe(keys.cancelChannel, keys.revokedChannel).catch(() => undefined); // every reconnect subscribes again
  const ping = setInterval(() => void (redis.status === 'ready' && redis.ping().catch(() => undefined)), pingEveryMs);
  ping.unref();

  return {
    onCancelled: (listener) => listen(cancelled, listener),
    onRevoked: (listener) => listen(revoked, listener),
    async close() {
      clearInterval(ping);
      redis.disconnect();
    },
  };
}

function listen<Listener>(listeners: Set<Listener>, listener: Listener): () => void {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}
