import { defineEntity, p } from '@mikro-orm/core';
import { createdAtColumn, currencyColumn, decimalColumn, idColumn, timeColumn } from '../../columns.ts';
import { uniqueIndex } from '../../indexes.ts';
import { tenantPolicies } from '../../policies.ts';

const schema = defineEntity({
  name: 'FxRate',
  tableName: 'fx_rates',
  rowLevelSecurity: 'force',
  policies: tenantPolicies('fx_rates', 'platform'),
  indexes: [uniqueIndex('fx_rates', 'effective', '(base, quote, effective_from)')],
  checks: [{ name: 'fx_rates_rate_check', expression: 'rate > 0' }],
  properties: {
    id: idColumn(),
    base: currencyColumn(),
    quote: currencyColumn(),
    /** One unit of `base` is worth this many of `quote`. */
    rate: decimalColumn(20, 12),
    effectiveFrom: timeColumn(),
    source: p.text(),
    createdAt: createdAtColumn(),
  },
});

/** What one currency is worth in another from a moment on. */
export class FxRate extends schema.class {}
schema.setClass(FxRate);
