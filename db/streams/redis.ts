import { Redis, type RedisOptions } from 'ioredis';

/**
 * The purpose of a connection. `commands`: short commands, shared by a process. `blocking`: one XREAD loop and nothing else; it neither reconnects nor
 * re-sends by itself, its loop opens a new one. `subscriber`: channels only.
 */
export type RedisRole = 'commands' | 'blocking' | 'subscriber';

const common = { connectTimeout: 3_000, keepAlive: 10_000, disableClientInfo: true } satisfies RedisOptions;

const optionsByRole = {
  // A silent server costs the socket after 3 s, so a command never hangs; a command that was under way is not sent twice.
  commands: {
    ...common,
    maxRetriesPerRequest: 1,
    commandTimeout: 3_000,
    socketTimeout: 3_000,
    autoResendUnfulfilledCommands: false,
    retryStrategy: pause,
  },
  blocking: {
    ...common,
    lazyConnect: true,
    disconnectTimeout: 200,
    maxRetriesPerRequest: 0,
    autoResendUnfulfilledCommands: false,
    enableOfflineQueue: false,
    retryStrategy: null,
  },
  subscriber: { ...common, maxRetriesPerRequest: null, socketTimeout: 3_000, retryStrategy: pause },
} satisfies Record<RedisRole, RedisOptions>;

/**
 * Opens a connection of one role; the only place that opens one.
 *
 * @param onError - receives each error. Without it errors are dropped, since a missing listener would end the process.
 */
export function connectRedis(url: string, role: RedisRole, onError: (error: Error) => void = () => undefined): Redis {
  const redis = new Redis(url, optionsByRole[role]);
  redis.on('error', onError);
  return redis;
}

/** Returns the milliseconds before the n-th attempt to reconnect: 100, 200, … at most 1000. */
function pause(attempt: number): number {
  return Math.min(attempt * 100, 1_000);
}
