import type { PriceBucket } from '../../../workflows/contracts/prices.ts';

export type { PriceBucket } from '../../../workflows/contracts/prices.ts';

/** A price in force, pinned when the call starts. `price` is per million tokens, or per call. */
export interface PinnedPrice {
  readonly id: string;
  readonly bucket: PriceBucket;
  readonly price: string;
}

export const standardTier = 'standard';

/** A query of the price rows of a model in force now: id, bucket and price; parameters: model, tier, currency. */
export const pricesInForceSql = `select distinct on (bucket) id, bucket, price::text as price from model_prices
  where model = ? and tier = ? and currency = ? and effective_from <= clock_timestamp() order by bucket, effective_from desc`;

/** What happens to a call to a model without a price (`UNPRICED_MODEL`); null: it is rejected where an enforced budget applies, else it costs nothing. */
export type UnpricedRule = 'reject' | 'zero_with_alert' | null;

/** Whether a model without a price must not be called. */
export function rejectsUnpriced(rule: UnpricedRule, isBounded: boolean): boolean {
  return rule === null ? isBounded : rule === 'reject';
}
