import Type, { type Static } from 'typebox';

/** Limits of a provider or of a model; null: none of that kind. */
export interface RateLimits {
  readonly requestsPerMinute: number | null;
  readonly tokensPerMinute: number | null;
  /** Calls at the same time. */
  readonly concurrency: number | null;
}

/** What limits the calls of one model: all of its provider's calls together, and its own. */
export interface CallLimits {
  readonly provider: RateLimits | null;
  readonly model: RateLimits | null;
}

const Count = Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000_000_000 }));

/** `limits` of a provider or a model in a registry file. An empty object limits nothing, but pauses when the provider asks for it. */
export const LimitsEntry = Type.Object(
  { requests_per_minute: Count, tokens_per_minute: Count, concurrency: Count },
  { additionalProperties: false },
);

/** An entry of a registry file; null: the file has none. */
export function toLimits(entry: Static<typeof LimitsEntry> | undefined): RateLimits | null {
  if (entry === undefined) return null;
  return {
    requestsPerMinute: entry.requests_per_minute ?? null,
    tokensPerMinute: entry.tokens_per_minute ?? null,
    concurrency: entry.concurrency ?? null,
  };
}

/** Returns the limits of a model's calls; null: they need no permit. */
export function callLimits(provider: RateLimits | null, model: RateLimits | null): CallLimits | null {
  return provider === null && model === null ? null : { provider, model };
}
