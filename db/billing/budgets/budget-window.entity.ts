import { defineEntity, p } from '@mikro-orm/core';
import { createdAtColumn, currencyColumn, decimalColumn, idColumn, timeColumn, uuidColumn } from '../../columns.ts';
import { index, tenantIndexes, uniqueIndex } from '../../indexes.ts';
import { tenantPolicies } from '../../policies.ts';

export const windowPeriods = ['month', 'day', 'cap'] as const;

const schema = defineEntity({
  name: 'BudgetWindow',
  tableName: 'budget_windows',
  rowLevelSecurity: 'force',
  policies: tenantPolicies('budget_windows', 'tenant'),
  indexes: [
    ...tenantIndexes('budget_windows'),
    uniqueIndex('budget_windows', 'budget', '(budget_id) where closed_at is null'),
    uniqueIndex('budget_windows', 'cap', '(cap_key) where closed_at is null'),
    index('budget_windows', 'open', '(workspace_id) where closed_at is null and cap_key is null'),
    index('budget_windows', 'last', '(budget_id, window_end desc) where budget_id is not null'),
    index('budget_windows', 'end', '(window_end) where closed_at is null and window_end is not null'),
  ],
  checks: [
    {
      name: 'budget_windows_cap',
      expression:
        "(period = 'cap') = (cap_key is not null) and (period = 'cap') = (budget_id is null) and (period = 'cap') = (window_end is null)",
    },
    { name: 'budget_windows_reserved', expression: 'reserved >= 0' },
  ],
  properties: {
    id: idColumn(),
    organizationId: uuidColumn(),
    workspaceId: uuidColumn(),
    /** No foreign key references the budget, because a window outlives it. */
    budgetId: uuidColumn().strictNullable(),
    budgetVersion: p.integer().default(1),
    period: p.enum(windowPeriods),
    /** `run:<id>` and the like: a cap of another area, without a budget. */
    capKey: p.text().strictNullable(),
    windowStart: timeColumn(),
    windowEnd: timeColumn().strictNullable(),
    currency: currencyColumn(),
    /** Currency in which calls are priced; null in a window of an older release, where it is the window's own. */
    baseCurrency: currencyColumn().strictNullable(),
    /** Rate from the base currency to the window's currency, as of the window's opening. */
    fxRate: decimalColumn(20, 12).defaultRaw('1'),
    /** When that rate came into force; null when both currencies are the same. */
    fxAsOf: timeColumn().strictNullable(),
    limitAmount: decimalColumn(20, 9).strictNullable(),
    isEnforced: p.boolean().default(true),
    spent: decimalColumn(30, 9).defaultRaw('0'),
    reserved: decimalColumn(30, 9).defaultRaw('0'),
    closedAt: timeColumn().strictNullable(),
    createdAt: createdAtColumn(),
  },
});

/** One period of a budget, or a cap: the only place that stores what is spent and reserved in it. */
export class BudgetWindow extends schema.class {}
schema.setClass(BudgetWindow);
