import type { ModelUsage, PinnedPrice } from '../../db/billing/usage.ts';
import type { OpenedStep } from '../../db/runs/model-steps.ts';
import type { ResolvedModel } from '../../ports/models.ts';
import type { ActivityDeps } from '../deps.ts';
import type { TokenUsage } from './usage.ts';

/** A claimed try of a model step: everything that the call and its bookkeeping need. */
export interface ModelTry {
  readonly opened: OpenedStep;
  readonly step: number;
  readonly model: ResolvedModel;
  readonly prices: readonly PinnedPrice[];
  readonly startedAt: Date;
  readonly callsMade: ReadonlyMap<string, number>;
}

/** The call's line for the ledger, in disjoint buckets. */
export function usageOf(
  deps: ActivityDeps,
  { model, prices, startedAt }: ModelTry,
  usage: TokenUsage,
  providerRequestId: string | null,
): ModelUsage {
  return {
    model: model.id,
    provider: model.provider,
    providerRequestId,
    isFree: model.isFree,
    tokens: {
      input: usage.input,
      output: usage.output,
      cached_read: usage.cachedRead,
      cached_write: usage.cachedWrite,
      reasoning: usage.reasoning,
    },
    estimated: usage.estimated,
    currency: deps.env.billingCurrency,
    reservedAt: startedAt,
    prices,
  };
}
