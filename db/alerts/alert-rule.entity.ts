import { defineEntity, p } from '@mikro-orm/core';
import {
  createdAtColumn,
  decimalColumn,
  idColumn,
  jsonColumn,
  timeColumn,
  updatedAtColumn,
  uuidColumn,
  versionColumn,
} from '../columns.ts';
import { index, tenantIndexes, uniqueIndex } from '../indexes.ts';
import { tenantPolicies } from '../policies.ts';
import type { AlertTarget } from './alert-target.ts';

/** What a caller may monitor. */
export const samplerKinds = [
  'spend',
  'run_failures',
  'run_failure_pct',
  'run_duration_p95',
  'runs_waiting',
  'delivery_failures',
  'schedule_missed',
  'unpriced_usage',
] as const;
export type SamplerKind = (typeof samplerKinds)[number];

/** Only the managed rule of a budget has the kind `budget`: it is judged when a call settles, not by the tick. */
export const ruleKinds = [...samplerKinds, 'budget'] as const;
export type RuleKind = (typeof ruleKinds)[number];

export const alertGroupings = ['none', 'workspace', 'agent'] as const;
export type AlertGrouping = (typeof alertGroupings)[number];
export const alertOperators = ['gt', 'gte', 'lt', 'lte'] as const;
export type AlertOperator = (typeof alertOperators)[number];
export const noDataModes = ['ok', 'keep', 'alert'] as const;
export type NoDataMode = (typeof noDataModes)[number];

const schema = defineEntity({
  name: 'AlertRule',
  tableName: 'alert_rules',
  rowLevelSecurity: 'force',
  policies: tenantPolicies('alert_rules', 'tenant'),
  indexes: [
    ...tenantIndexes('alert_rules'),
    uniqueIndex('alert_rules', 'budget', '(budget_id) where budget_id is not null and deleted_at is null'),
    index('alert_rules', 'active', '(is_active, id) where deleted_at is null and budget_id is null'),
  ],
  uniques: [{ name: 'alert_rules_tenant_key', properties: ['id', 'organizationId'] }],
  checks: [
    { name: 'alert_rules_managed', expression: "(kind = 'budget') = (budget_id is not null)" },
    { name: 'alert_rules_threshold', expression: 'threshold >= 0 and warning_threshold >= 0' },
  ],
  properties: {
    id: idColumn(),
    organizationId: uuidColumn(),
    /** Null: the whole organization. */
    workspaceId: uuidColumn().strictNullable(),
    /** For a managed rule: the budget that it monitors. There is no foreign key, since a deleted rule outlives its budget. */
    budgetId: uuidColumn().strictNullable(),
    agentId: uuidColumn().strictNullable(),
    name: p.text(),
    kind: p.enum(ruleKinds),
    groupBy: p.enum(alertGroupings).default('none'),
    operator: p.enum(alertOperators),
    threshold: decimalColumn(20, 9),
    warningThreshold: decimalColumn(20, 9).strictNullable(),
    windowS: p.integer().default(300),
    forS: p.integer().default(0),
    keepFiringS: p.integer().default(0),
    repeatIntervalS: p.integer().default(14_400),
    noDataMode: p.enum(noDataModes).default('ok'),
    targets: jsonColumn<AlertTarget[]>(() => []),
    isActive: p.boolean().default(true),
    /** Written by the tick, outside the version. */
    lastEvaluatedAt: timeColumn().strictNullable(),
    version: versionColumn(),
    createdAt: createdAtColumn(),
    updatedAt: updatedAtColumn(),
    deletedAt: timeColumn().strictNullable(),
  },
});

/** What is monitored, when it becomes an alert, and who is notified. */
export class AlertRule extends schema.class {}
schema.setClass(AlertRule);
