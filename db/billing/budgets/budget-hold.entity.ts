import { defineEntity, p } from '@mikro-orm/core';
import { createdAtColumn, decimalColumn, timeColumn, uuidColumn } from '../../columns.ts';
import { index } from '../../indexes.ts';
import { tenantPolicies } from '../../policies.ts';

export const holdStates = ['held', 'settled', 'released', 'expired'] as const;

const schema = defineEntity({
  name: 'BudgetHold',
  tableName: 'budget_holds',
  rowLevelSecurity: 'force',
  policies: tenantPolicies('budget_holds', 'tenant'),
  indexes: [index('budget_holds', 'window', '(window_id)'), index('budget_holds', 'lease', "(lease_until) where state = 'held'")],
  properties: {
    callKey: p.text().primary(),
    windowId: uuidColumn().primary(),
    organizationId: uuidColumn(),
    workspaceId: uuidColumn(),
    amount: decimalColumn(30, 9),
    state: p.enum(holdStates).default('held'),
    leaseUntil: timeColumn(),
    closedAt: timeColumn().strictNullable(),
    createdAt: createdAtColumn(),
  },
});

/** The possible cost of a call in flight, held in each window above it. */
export class BudgetHold extends schema.class {}
schema.setClass(BudgetHold);
