import type { Redis } from 'ioredis';
import { RateLimiterMemory, RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible';
import { fail, Failure } from '../../../workflows/contracts/failure.ts';
import { defaultQuotas, limitPolicies, type LimitPolicy, type Quota } from './quotas.ts';

export type { LimitPolicy } from './quotas.ts';

/** One counter to touch: a policy and the key of its owner. */
export interface LimitHit {
  readonly policy: LimitPolicy;
  readonly key: string;
  /** How many to count; by default one. */
  readonly count?: number;
  /** The owner's quota in the policy's window; by default the policy's own. */
  readonly quota?: number;
}

/** RateLimit and RateLimit-Policy of a counted reply; empty when nothing was counted. */
export type LimitHeaders = Readonly<Record<string, string>>;

export interface Limits {
  /**
   * Counts one (or `count`) in each policy, in one Redis round trip. Throws `rate_limited` if one is over, and refunds the others: else a blocked caller could
   * use up a quota of others. Without Redis (or after 50 ms) it counts in this process.
   */
  consume(hits: readonly LimitHit[]): Promise<LimitHeaders>;
  /** Refunds hits that turned out not to be failures; for `login_pair`, clears count and blocks. */
  reward(hits: readonly LimitHit[]): Promise<LimitHeaders>;
  /** Refunds the hits, because the work behind them was not done. */
  refund(hits: readonly LimitHit[]): Promise<LimitHeaders>;
  close(): Promise<void>;
}

export type RequestLimits = Omit<Limits, 'close'>;

interface Verdict {
  readonly hit: LimitHit;
  readonly quota: Quota;
  readonly isOver: boolean;
  readonly remaining: number;
  readonly resetS: number;
}

interface Counter {
  readonly quota: Quota;
  readonly limiter: RateLimiterRedis;
}

type Counters = Map<LimitPolicy, Counter>;

const usualTimeoutMs = 50;
const loginBlock = { firstS: 60, maxS: 900, rememberS: 3_600 } as const;

/** Opens a separate connection, so that a slow Redis costs a request at most 50 ms and never causes a queue; hits counted in one tick are sent in one write. */
export function createLimits(options: {
  redis: Redis;
  prefix: string;
  quotas?: Readonly<Partial<Record<LimitPolicy, Quota | null>>>;
  /** How long Redis may take; by default 50 ms. */
  redisTimeoutMs?: number | undefined;
}): Limits {
  const client = connectAside(options.redis, options.redisTimeoutMs ?? usualTimeoutMs);
  const counters: Counters = new Map();
  for (const policy of limitPolicies) {
    const quota = options.quotas?.[policy] === undefined ? defaultQuotas[policy] : options.quotas[policy];
    if (quota) counters.set(policy, { quota, limiter: makeLimiter(client, `${options.prefix}rl:${policy}`, quota) });
  }
  const blocks = makeLimiter(client, `${options.prefix}rl:login_block`, { quota: 1_000_000, windowS: loginBlock.rememberS });

  return {
    async consume(hits) {
      const verdicts = await touchEach(counters, hits, (counter, hit) => countOne(counter, hit, blocks));
      const over = verdicts.filter((verdict) => verdict.isOver);
      if (over.length === 0) return limitHeaders(verdicts);

      const spared = verdicts.filter((verdict) => !verdict.isOver).map((verdict) => verdict.hit);
      throw overLimit(over, await touchEach(counters, spared, refundOne));
    },
    reward: async (hits) => limitHeaders(await touchEach(counters, hits, (counter, hit) => rewardOne(counter, hit, blocks))),
    refund: async (hits) => limitHeaders(await touchEach(counters, hits, refundOne)),
    async close() {
      client.disconnect();
    },
  };
}

/** The limits of one request: adds their headers to those of its reply, also when they refuse. */
export function limitsOfRequest(limits: Limits, owed: Record<string, string>): RequestLimits {
  const noted = async (told: Promise<LimitHeaders>): Promise<LimitHeaders> => {
    try {
      const headers = await told;
      Object.assign(owed, mergeLimitHeaders(owed, headers));
      return headers;
    } catch (error) {
      if (error instanceof Failure) Object.assign(owed, mergeLimitHeaders(owed, error.headers));
      throw error;
    }
  };
  return {
    consume: (hits) => noted(limits.consume(hits)),
    reward: (hits) => noted(limits.reward(hits)),
    refund: (hits) => noted(limits.refund(hits)),
  };
}

function connectAside(redis: Redis, redisTimeoutMs: number): Redis {
  const client = redis.duplicate({
    commandTimeout: redisTimeoutMs,
    enableOfflineQueue: false,
    enableAutoPipelining: true,
    maxRetriesPerRequest: 0,
  });
  // Every command rejects through its own promise; without a listener, ioredis prints connection errors.
  client.on('error', () => undefined);
  return client;
}

/** Touches the counters that are switched on, all in one round trip. */
function touchEach(
  counters: Counters,
  hits: readonly LimitHit[],
  touchOne: (counter: Counter, hit: LimitHit) => Promise<Verdict>,
): Promise<Verdict[]> {
  const touched = hits.flatMap((hit) => {
    const counter = counters.get(hit.policy);
    return counter ? [touchOne(counter, hit)] : [];
  });
  return Promise.all(touched);
}

function makeLimiter(client: Redis, keyPrefix: string, { quota, windowS }: Quota): RateLimiterRedis {
  const rule = { keyPrefix, points: quota, duration: windowS };
  return new RateLimiterRedis({ ...rule, storeClient: client, rejectIfRedisNotReady: true, insuranceLimiter: new RateLimiterMemory(rule) });
}

async function countOne(counter: Counter, hit: LimitHit, blocks: RateLimiterRedis): Promise<Verdict> {
  const spent = await touch(counter.limiter, hit.key, hit.count);
  const isFirstOver = spent.consumedPoints === counter.quota.quota + 1;
  const waitMs = isFirstOver && hit.policy === 'login_pair' ? await blockPair(counter, hit.key, blocks) : spent.msBeforeNext;
  return verdictOf(counter, hit, spent.consumedPoints, waitMs);
}

function verdictOf({ quota: ofPolicy }: Counter, hit: LimitHit, spent: number, waitMs: number): Verdict {
  const quota = hit.quota === undefined ? ofPolicy : { ...ofPolicy, quota: hit.quota };
  const remaining = Math.min(quota.quota, Math.max(0, quota.quota - spent));
  return { hit, quota, isOver: spent > quota.quota, remaining, resetS: Math.max(1, Math.ceil(waitMs / 1_000)) };
}

// The limiter rejects with the same kind of value that it resolves with.
async function touch(limiter: RateLimiterRedis, key: string, count = 1): Promise<RateLimiterRes> {
  try {
    return await limiter.consume(key, count);
  } catch (refusal) {
    if (refusal instanceof RateLimiterRes) return refusal;
    throw refusal;
  }
}

async function blockPair(counter: Counter, key: string, blocks: RateLimiterRedis): Promise<number> {
  const { consumedPoints } = await touch(blocks, key);
  const seconds = Math.min(loginBlock.maxS, loginBlock.firstS * 2 ** (consumedPoints - 1));
  await counter.limiter.block(key, seconds);
  return seconds * 1_000;
}

async function rewardOne(counter: Counter, hit: LimitHit, blocks: RateLimiterRedis): Promise<Verdict> {
  if (hit.policy !== 'login_pair') return refundOne(counter, hit);
  await Promise.all([counter.limiter.delete(hit.key), blocks.delete(hit.key)]);
  return verdictOf(counter, hit, 0, counter.quota.windowS * 1_000);
}

async function refundOne(counter: Counter, hit: LimitHit): Promise<Verdict> {
  const left = await counter.limiter.reward(hit.key, hit.count ?? 1);
  return verdictOf(counter, hit, left.consumedPoints, left.msBeforeNext);
}

function overLimit(over: readonly Verdict[], spared: readonly Verdict[]): Failure {
  const policies = over.map((verdict) => verdict.hit.policy);
  return fail('rate_limited', {
    detail: `Over the quota of ${policies.join(', ')}. Wait as long as Retry-After says; an operator sets quotas in RATE_LIMITS.`,
    retryAfterS: Math.max(...over.map((verdict) => verdict.resetS)),
    context: { violated_policies: policies },
    headers: limitHeaders([...over, ...spared]),
  });
}

/**
 * Merges both. A policy that only `later` names comes first: it is more specific. A policy that both name keeps its position, with its later values: a refund
 * never precedes a refusal.
 */
function mergeLimitHeaders(earlier: LimitHeaders, later: LimitHeaders): LimitHeaders {
  const nameOf = (item: string) => item.split(';')[0] ?? '';
  const byName = (text: string) => new Map(text.split(', ').map((item) => [nameOf(item), item]));
  const merged = Object.entries(later).map(([header, text]) => {
    if (earlier[header] === undefined) return [header, text] as const;
    const [before, after] = [byName(earlier[header]), byName(text)];
    const added = [...after].filter(([name]) => !before.has(name)).map(([, item]) => item);
    return [header, [...added, ...[...before].map(([name, item]) => after.get(name) ?? item)].join(', ')] as const;
  });
  return { ...earlier, ...Object.fromEntries(merged) };
}

function limitHeaders(verdicts: readonly Verdict[]): Record<string, string> {
  if (verdicts.length === 0) return {};
  return {
    'ratelimit-policy': verdicts.map(({ hit, quota }) => `"${hit.policy}";q=${quota.quota};w=${quota.windowS}`).join(', '),
    'ratelimit': verdicts.map(({ hit, remaining, resetS }) => `"${hit.policy}";r=${remaining};t=${resetS}`).join(', '),
  };
}
