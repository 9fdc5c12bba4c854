import type { PriceBucket } from '../../../workflows/contracts/prices.ts';

export type { PriceBucket } from '../../../workflows/contracts/prices.ts';

/** A price in force, pinned when the call starts. `price` is per million tokens, or per call. */
export interface PinnedPrice {
  readonly id: string;
  readonly bucket: PriceBucket;
  readonly price: string;
}

export const standardTier = 'standard';

/** The price rows of a model in force at a moment, as a query of id, bucket and price; parameters: model, tier, currency. */
export const pricesInForceSql = `select distinct on (bucket) id, bucket, price::text as price from model_prices
  where model = ? and tier = ? and currency = ? and effective_from <= clock_timestamp() order by bucket, effective_from desc`;

/** What becomes of a call to a model without a price (`UNPRICED_MODEL`); null: rejected where an enforced budget stands, else it costs nothing. */
export type UnpricedRule = 'reject' | 'zero_with_alert' | null;

/** Whether a model without a price may not be called. */
export function rejectsUnpriced(rule: UnpricedRule, isBounded: boolean): boolean {
  return rule === null ? isBounded : rule === 'reject';
}
