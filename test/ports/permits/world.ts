import type { Redis } from 'ioredis';
import { createPermitMetrics } from '../../../ports/metrics/permit-metrics.ts';
import { createModelPermits, type LimitedModel, type ModelPermits, type Permit } from '../../../ports/models/permits/permits.ts';
import type { RateLimits } from '../../../ports/models/limits.ts';
import { silent } from '../../support/worker.ts';

/** Limits of a kind; the others are absent. */
export function limitsOf(limits: Partial<RateLimits>): RateLimits {
  return { requestsPerMinute: null, tokensPerMinute: null, concurrency: null, ...limits };
}

/** A model of a provider with these limits. */
export function limitedModel(
  name: string,
  { provider, model }: { provider?: Partial<RateLimits>; model?: Partial<RateLimits> },
): LimitedModel {
  const limits = { provider: provider ? limitsOf(provider) : null, model: model ? limitsOf(model) : null };
  return { id: `acme/${name}`, provider: 'acme', limits };
}

/** The permits of one process of a deployment; `warnings` are the words of its log. */
export interface TestPermits extends ModelPermits {
  readonly warnings: string[];
}

export function permitsOf(redis: Redis, prefix: string, models: readonly LimitedModel[]): TestPermits {
  const warnings: string[] = [];
  const log = Object.assign(Object.create(silent), { warn: (_facts: object, words: string) => void warnings.push(words) }) as typeof silent;
  return { ...createModelPermits({ models, redis, prefix, log, metrics: createPermitMetrics(models) }), warnings };
}

export interface Wish {
  readonly workspaceId?: string;
  readonly tokens?: number;
  readonly since?: Date;
  readonly signal?: AbortSignal;
  readonly maxWaitMs?: number;
}

/** Asks for a permit, for a minute unless told otherwise. */
export function take(permits: ModelPermits, model: LimitedModel, wish: Wish = {}): Promise<Permit | null> {
  return permits.take(model, { workspaceId: 'w', tokens: 1, signal: new AbortController().signal, maxWaitMs: 60_000, ...wish });
}

/** Takes one that must be there. */
export async function taken(permits: ModelPermits, model: LimitedModel, wish: Wish = {}): Promise<Permit> {
  const permit = await take(permits, model, wish);
  if (permit === null) throw new Error('no permit in time');
  return permit;
}
