import { defineEntity, p } from '@mikro-orm/core';
import {
  createdAtColumn,
  currencyColumn,
  dateColumn,
  decimalColumn,
  idColumn,
  updatedAtColumn,
  uuidColumn,
  versionColumn,
} from '../../columns.ts';
import { tenantIndexes, uniqueIndex } from '../../indexes.ts';
import { tenantPolicies } from '../../policies.ts';

export const budgetPeriods = ['month', 'day'] as const;
export type BudgetPeriod = (typeof budgetPeriods)[number];

const schema = defineEntity({
  name: 'Budget',
  tableName: 'budgets',
  rowLevelSecurity: 'force',
  policies: tenantPolicies('budgets', 'tenant'),
  indexes: [...tenantIndexes('budgets'), uniqueIndex('budgets', 'period', '(workspace_id, period)')],
  checks: [{ name: 'budgets_limit', expression: 'limit_amount >= 0' }],
  properties: {
    id: idColumn(),
    organizationId: uuidColumn(),
    workspaceId: uuidColumn(),
    period: p.enum(budgetPeriods),
    /** The day, in the workspace's time zone, from which windows are counted. */
    periodStart: dateColumn(),
    /** Null: no limit, but spending is still counted. */
    limitAmount: decimalColumn(20, 9).strictNullable(),
    currency: currencyColumn(),
    isEnforced: p.boolean().default(true),
    alertThresholdPct: p.integer().strictNullable(),
    alertRuleId: uuidColumn().strictNullable(),
    version: versionColumn(),
    createdAt: createdAtColumn(),
    updatedAt: updatedAtColumn(),
  },
});

/** What a workspace may spend in a period. */
export class Budget extends schema.class {}
schema.setClass(Budget);
