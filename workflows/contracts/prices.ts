/** What a price is for; the token counts of a call are disjoint over the same buckets. */
export const priceBuckets = ['input', 'cached_read', 'cached_write', 'output', 'reasoning', 'call'] as const;
export type PriceBucket = (typeof priceBuckets)[number];

/** The unit of a price: a million tokens, or one call. */
export const priceUnits = ['1m_tokens', 'call'] as const;
export type PriceUnit = (typeof priceUnits)[number];
