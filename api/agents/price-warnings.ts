import type { EffectiveWarning } from '../../db/agents/effective.ts';
import type { AgentPricing } from '../../db/agents/effective-source.ts';
import { rejectsUnpriced } from '../../db/billing/prices.ts';
import type { Ctx } from '../http/operation.ts';

/** Models that a run might call and that nobody has priced, where that matters: under an enforced budget, or where the deployment rejects them. */
export function priceWarnings(
  { deps }: Pick<Ctx, 'deps'>,
  { isBounded, pricedModels }: AgentPricing,
  models: readonly string[],
): EffectiveWarning[] {
  const isRejected = rejectsUnpriced(deps.env.unpricedModel, isBounded);
  if (!isBounded && !isRejected) return [];
  return models
    .filter((id) => !pricedModels.includes(id) && deps.models.resolve(id)?.isFree !== true)
    .map((id, place) => ({
      pointer: place === 0 && id === models[0] ? '/model' : '/fallback_models',
      rule: 'unpriced_model',
      message: isRejected
        ? `the model ${id} has no price and is not called`
        : `the model ${id} has no price and counts nothing against the budget`,
      params: { kind: 'model', slug: id },
    }));
}
