import { Decimal } from 'decimal.js';
import type { EffectiveWarning } from '../../db/agents/effective/effective.ts';
import type { AgentPricing } from '../../db/agents/effective/effective-source.ts';
import type { RevisionLimits } from '../../db/agents/revisions/revision-limits.ts';
import { rejectsUnpriced } from '../../db/billing/prices/prices.ts';
import type { Ctx } from '../http/operation/operation.ts';

/** Warns of models without a price that a run might call, if that matters: under an enforced budget, or if the deployment rejects them. */
export function priceWarnings(
  { deps }: Pick<Ctx, 'deps'>,
  { ceilings, pricedModels }: AgentPricing,
  models: readonly string[],
): EffectiveWarning[] {
  const isBounded = ceilings.length > 0;
  const isRejected = rejectsUnpriced(deps.env.unpricedModel, isBounded);
  if (!isBounded && !isRejected) return [];
  return models
    .filter((id) => !pricedModels.includes(id) && deps.models.resolve(id)?.isFree !== true)
    .map((id, place) => ({
      pointer: place === 0 && id === models[0] ? '/model' : '/fallback_models',
      rule: 'unpriced_model',
      message: isRejected
        ? `the model ${id} has no price and will not be called`
        : `the model ${id} has no price and does not count against the budget`,
      params: { kind: 'model', slug: id },
    }));
}

/** A run may cost more than an enforced budget of its workspace lets pass in a whole period: it would end or wait there, however little was spent before. */
export function ceilingWarnings({ ceilings }: AgentPricing, { max_cost: maxCost }: Pick<RevisionLimits, 'max_cost'>): EffectiveWarning[] {
  if (maxCost === null) return [];
  return ceilings
    .filter(({ limit, rate }) => rate !== null && new Decimal(maxCost).times(rate).greaterThan(limit))
    .map(({ period }) => ({
      pointer: '/limits/max_cost',
      rule: 'above_budget',
      message: `a run may cost more than the budget of the ${period} allows`,
      params: { kind: 'budget', slug: period },
    }));
}
