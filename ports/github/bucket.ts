import type { Redis } from 'ioredis';
import { RateLimiterMemory, RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible';
import { HostError } from './host-error.ts';

/** The cost of a request by the host's accounting: https://docs.github.com/rest/using-the-rest-api/rate-limits-for-the-rest-api, "secondary rate limits". */
export interface HostCost {
  /** 1 for a read, 5 for a write. */
  readonly points: number;
  /** Requests that create content that triggers notifications. */
  readonly creations: number;
}

/** The quota of one installation, counted across all processes. */
export interface HostBucket {
  /** Throws HostError `limited`, with the time until the quota allows it. */
  take(installation: string, cost: HostCost): Promise<void>;
  close(): void;
}

const perMinute = { points: 700, creations: 60 } as const;
const creationsPerHour = 400;

/** Counts in Redis; while Redis is unavailable, in this process. */
export function createHostBucket({ redis, prefix }: { readonly redis: Redis; readonly prefix: string }): HostBucket {
  const client = redis.duplicate({ commandTimeout: 250, enableOfflineQueue: false, maxRetriesPerRequest: 0 });
  client.on('error', () => undefined); // each command reports errors through its own promise
  const limiter = (name: string, points: number, duration: number) => {
    const rule = { keyPrefix: `${prefix}gh:${name}`, points, duration };
    return new RateLimiterRedis({
      ...rule,
      storeClient: client,
      rejectIfRedisNotReady: true,
      insuranceLimiter: new RateLimiterMemory(rule),
    });
  };
  const points = limiter('points', perMinute.points, 60);
  const minute = limiter('minute', perMinute.creations, 60);
  const hour = limiter('hour', creationsPerHour, 3_600);

  return {
    async take(installation, cost) {
      const asked: readonly (readonly [RateLimiterRedis, number])[] = [
        [points, cost.points],
        [minute, cost.creations],
        [hour, cost.creations],
      ];
      const taken: (readonly [RateLimiterRedis, number])[] = [];
      for (const [counter, count] of asked.filter(([, count]) => count > 0)) {
        const waitMs = await take(counter, installation, count);
        // A refused request has been counted, so the counts are taken back.
        taken.push([counter, count]);
        if (waitMs === 0) continue;
        await Promise.all(taken.map(([each, share]) => each.reward(installation, share).catch(() => undefined)));
        throw new HostError('the share of the installation is used up', { kind: 'limited', retryAfterMs: waitMs });
      }
    },
    close: () => client.disconnect(),
  };
}

/** Returns the milliseconds to wait; 0: the quota allowed it. The limiter rejects with the same kind of value that it resolves with. */
async function take(counter: RateLimiterRedis, key: string, count: number): Promise<number> {
  try {
    await counter.consume(key, count);
    return 0;
  } catch (refusal) {
    if (refusal instanceof RateLimiterRes) return Math.max(1_000, refusal.msBeforeNext);
    throw refusal;
  }
}
