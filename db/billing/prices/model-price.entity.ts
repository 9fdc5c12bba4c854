import { defineEntity, p } from '@mikro-orm/core';
import { priceBuckets, priceUnits } from '../../../workflows/contracts/prices.ts';
import { createdAtColumn, currencyColumn, decimalColumn, idColumn, timeColumn } from '../../columns.ts';
import { uniqueIndex } from '../../indexes.ts';
import { tenantPolicies } from '../../policies.ts';

const schema = defineEntity({
  name: 'ModelPrice',
  tableName: 'model_prices',
  rowLevelSecurity: 'force',
  policies: tenantPolicies('model_prices', 'platform'),
  indexes: [uniqueIndex('model_prices', 'effective', '(model, tier, bucket, currency, effective_from)')],
  properties: {
    id: idColumn(),
    model: p.text(),
    tier: p.text().default('standard'),
    bucket: p.enum(priceBuckets),
    unit: p.enum(priceUnits),
    price: decimalColumn(24, 12),
    currency: currencyColumn(),
    effectiveFrom: timeColumn(),
    source: p.text().strictNullable(),
    createdAt: createdAtColumn(),
  },
});

/** The price of a model from a moment on; the rows in force when a call starts are pinned. */
export class ModelPrice extends schema.class {}
schema.setClass(ModelPrice);
