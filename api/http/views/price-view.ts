import type { Static } from 'typebox';
import { iso } from '../../../db/sql.ts';
import { priceBuckets, priceUnits, type PriceBucket, type PriceUnit } from '../../../workflows/contracts/prices.ts';
import { Currency } from './zones.ts';
import { closed, Decimal, idOf, nullable, oneOf, text, Timestamp } from '../input/schema.ts';

export const PriceModel = text(120, { minLength: 1, description: 'Id of the model in the registry, such as `openai/gpt-5.4-mini`' });
export const PriceTier = text(40, { minLength: 1, description: 'Calls are priced by `standard`' });
export const PriceBucketName = oneOf(priceBuckets, {
  description: 'Which of the disjoint token counts of a call it prices, or the call itself',
});

export const PriceView = closed(
  {
    id: idOf('Other'),
    model: PriceModel,
    tier: PriceTier,
    bucket: PriceBucketName,
    unit: oneOf(priceUnits),
    price: { ...Decimal, description: 'At most 12 decimals' },
    currency: Currency,
    effective_from: { ...Timestamp, description: 'In force from this time until the next price begins' },
    source: nullable(text(200, { description: 'Where the price was found' })),
    created_at: Timestamp,
  },
  {
    $id: 'PriceView',
    description: 'What a model costs from a given time. A price in force is never changed or deleted: a later one replaces it',
  },
);

interface StoredPrice {
  readonly id: string;
  readonly model: string;
  readonly tier: string;
  readonly bucket: PriceBucket;
  readonly unit: PriceUnit;
  readonly price: string;
  readonly currency: string;
  readonly effectiveFrom: string;
  readonly source: string | null;
  readonly createdAt: string;
}

export function toPriceView(price: StoredPrice): Static<typeof PriceView> {
  return {
    id: price.id,
    model: price.model,
    tier: price.tier,
    bucket: price.bucket,
    unit: price.unit,
    price: price.price,
    currency: price.currency,
    effective_from: iso(price.effectiveFrom),
    source: price.source,
    created_at: iso(price.createdAt),
  };
}
