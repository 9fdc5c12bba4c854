import { sql } from 'kysely';
import type { PriceBucket } from '../../../workflows/contracts/prices.ts';
import type { ParametersOf } from '../../prepared.ts';
import { query } from '../../query.ts';

export type { PriceBucket } from '../../../workflows/contracts/prices.ts';

/** A price in force, pinned when the call starts. `price` is per million tokens, or per call. */
export interface PinnedPrice {
  readonly id: string;
  readonly bucket: PriceBucket;
  readonly price: string;
}

export const standardTier = 'standard';

/** A model and the currency of its prices. */
export interface PricedModel {
  readonly model: string;
  readonly currency: string;
}

/** A query of the price rows of a model in force now, one per bucket. */
export function pricesInForce({ model, currency }: ParametersOf<PricedModel>) {
  return query
    .selectFrom('model_prices')
    .distinctOn('bucket')
    .where('model', '=', model)
    .where('tier', '=', standardTier)
    .where('currency', '=', currency)
    .where('effectiveFrom', '<=', sql<string>`clock_timestamp()`)
    .select(['id', 'bucket', sql<string>`price::text`.as('price')])
    .orderBy('bucket')
    .orderBy('effectiveFrom', 'desc');
}

/** What happens to a call to a model without a price (`UNPRICED_MODEL`); null: it is rejected where an enforced budget applies, else it costs nothing. */
export type UnpricedRule = 'reject' | 'zero_with_alert' | null;

/** Whether a model without a price must not be called. */
export function rejectsUnpriced(rule: UnpricedRule, isBounded: boolean): boolean {
  return rule === null ? isBounded : rule === 'reject';
}
