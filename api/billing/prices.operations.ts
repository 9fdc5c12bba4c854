import Type from 'typebox';
import { listPricesInForce } from '../../db/billing/prices/model-prices.ts';
import { mapPage } from '../../db/page.ts';
import { area, list } from '../http/operation/operation.ts';
import { Currency } from '../http/views/zones.ts';
import { PriceBucketName, PriceModel, PriceTier, PriceView, toPriceView } from '../http/views/price-view.ts';
import { closed, Timestamp } from '../http/input/schema.ts';

const PriceQuery = closed({
  model: Type.Optional(PriceModel),
  tier: Type.Optional(PriceTier),
  bucket: Type.Optional(PriceBucketName),
  currency: Type.Optional(Currency),
  at: Type.Optional({ ...Timestamp, description: 'The time at which the prices are in force; defaults to now' }),
});

export const prices = area('Billing', {
  listPrices: list(
    '/prices',
    {
      summary: 'List prices',
      description:
        'Prices in force now or at another time, by model, tier, bucket and currency. A model without a row has no price: the cost of its calls is unknown, unless the registry says that it is free.',
      access: 'viewer',
      query: PriceQuery,
      view: PriceView,
      paging: 'keyset',
    },
    async (ctx, { query: { model, tier, bucket, currency, at } }) =>
      mapPage(await listPricesInForce(ctx.em, { model, tier, bucket, currency, at }, ctx.page), toPriceView),
  ),
});
