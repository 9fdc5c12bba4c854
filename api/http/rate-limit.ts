import type { Redis } from 'ioredis';
import { RateLimiterMemory, RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible';
import { fail, type Failure } from '../../workflows/contracts/failure.ts';
import { defaultQuotas, limitPolicies, type LimitPolicy, type Quota } from './quotas.ts';

export type { LimitPolicy } from './quotas.ts';

/** One counter to touch: a policy and whose. */
export interface LimitHit {
  readonly policy: LimitPolicy;
  readonly key: string;
}

/** RateLimit and RateLimit-Policy of a counted reply; empty when nothing was counted. */
export type LimitHeaders = Readonly<Record<string, string>>;

export interface Limits {
  /** Counts one in each, in one Redis round trip; throws `rate_limited` when one is over. Without Redis (or after 50 ms) it counts in this process. */
  consume(hits: readonly LimitHit[]): Promise<LimitHeaders>;
  /** Gives back what turned out to be no failure; for `login_pair` it clears count and blocks. */
  reward(hits: readonly LimitHit[]): Promise<void>;
  close(): Promise<void>;
}

interface Verdict {
  readonly policy: LimitPolicy;
  readonly quota: Quota;
  readonly isOver: boolean;
  readonly remaining: number;
  readonly resetS: number;
}

interface Counter {
  readonly quota: Quota;
  readonly limiter: RateLimiterRedis;
}

const redisTimeoutMs = 50;
const loginBlock = { firstS: 60, longestS: 900, rememberS: 3_600 } as const;

/** Opens a connection of its own, so that a slow Redis costs a request 50 ms and never a queue; what is counted in one tick goes out in one write. */
export function createLimits(options: {
  redis: Redis;
  prefix: string;
  quotas?: Readonly<Partial<Record<LimitPolicy, Quota | null>>>;
}): Limits {
  const client = options.redis.duplicate({
    commandTimeout: redisTimeoutMs,
    enableOfflineQueue: false,
    enableAutoPipelining: true,
    maxRetriesPerRequest: 0,
  });
  // Every command answers through its own promise; without a listener ioredis prints connection errors.
  client.on('error', () => undefined);

  const counters = new Map<LimitPolicy, Counter>();
  for (const policy of limitPolicies) {
    const quota = options.quotas?.[policy] === undefined ? defaultQuotas[policy] : options.quotas[policy];
    if (quota) counters.set(policy, { quota, limiter: makeLimiter(client, `${options.prefix}rl:${policy}`, quota) });
  }
  const blocks = makeLimiter(client, `${options.prefix}rl:login_block`, { quota: 1_000_000, windowS: loginBlock.rememberS });

  return {
    async consume(hits) {
      const counted = await Promise.all(hits.map((hit) => countOne(counters.get(hit.policy), hit, blocks)));
      const verdicts = counted.filter((verdict) => verdict !== null);
      const over = verdicts.filter((verdict) => verdict.isOver);

      if (over.length > 0) throw overLimit(over, verdicts);
      return limitHeaders(verdicts);
    },
    async reward(hits) {
      await Promise.all(hits.map((hit) => rewardOne(counters.get(hit.policy), hit, blocks)));
    },
    async close() {
      client.disconnect();
    },
  };
}

function makeLimiter(client: Redis, keyPrefix: string, { quota, windowS }: Quota): RateLimiterRedis {
  const rule = { keyPrefix, points: quota, duration: windowS };
  return new RateLimiterRedis({ ...rule, storeClient: client, rejectIfRedisNotReady: true, insuranceLimiter: new RateLimiterMemory(rule) });
}

async function countOne(counter: Counter | undefined, hit: LimitHit, blocks: RateLimiterRedis): Promise<Verdict | null> {
  if (!counter) return null;
  const spent = await touch(counter.limiter, hit.key);
  const isOver = spent.consumedPoints > counter.quota.quota;
  const isFirstOver = spent.consumedPoints === counter.quota.quota + 1;
  const waitMs = isOver && isFirstOver && hit.policy === 'login_pair' ? await blockPair(counter, hit.key, blocks) : spent.msBeforeNext;

  return {
    policy: hit.policy,
    quota: counter.quota,
    isOver,
    remaining: Math.max(0, counter.quota.quota - spent.consumedPoints),
    resetS: Math.max(1, Math.ceil(waitMs / 1_000)),
  };
}

// The limiter rejects with the same kind of value that it resolves with.
async function touch(limiter: RateLimiterRedis, key: string): Promise<RateLimiterRes> {
  try {
    return await limiter.consume(key);
  } catch (refusal) {
    if (refusal instanceof RateLimiterRes) return refusal;
    throw refusal;
  }
}

async function blockPair(counter: Counter, key: string, blocks: RateLimiterRedis): Promise<number> {
  const { consumedPoints } = await touch(blocks, key);
  const seconds = Math.min(loginBlock.longestS, loginBlock.firstS * 2 ** (consumedPoints - 1));
  await counter.limiter.block(key, seconds);
  return seconds * 1_000;
}

async function rewardOne(counter: Counter | undefined, hit: LimitHit, blocks: RateLimiterRedis): Promise<void> {
  if (!counter) return;
  if (hit.policy !== 'login_pair') {
    await counter.limiter.reward(hit.key);
    return;
  }
  await Promise.all([counter.limiter.delete(hit.key), blocks.delete(hit.key)]);
}

function overLimit(over: readonly Verdict[], all: readonly Verdict[]): Failure {
  return fail('rate_limited', {
    retryAfterS: Math.max(...over.map((verdict) => verdict.resetS)),
    context: { violated_policies: over.map((verdict) => verdict.policy) },
    headers: limitHeaders(all),
  });
}

function limitHeaders(verdicts: readonly Verdict[]): Record<string, string> {
  if (verdicts.length === 0) return {};
  return {
    'ratelimit-policy': verdicts.map(({ policy, quota }) => `"${policy}";q=${quota.quota};w=${quota.windowS}`).join(', '),
    'ratelimit': verdicts.map(({ policy, remaining, resetS }) => `"${policy}";r=${remaining};t=${resetS}`).join(', '),
  };
}
