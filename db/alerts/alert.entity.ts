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
import { alertSeverities } from './alert-state.entity.ts';

export const alertStatuses = ['firing', 'no_data', 'resolved'] as const;
export type AlertStatus = (typeof alertStatuses)[number];
/** Why an alert has ended. */
export const alertResolutions = ['recovered', 'manual', 'window_ended', 'budget_changed', 'rule_changed'] as const;
export type AlertResolution = (typeof alertResolutions)[number];

/** What an alert is about, besides its rule: our own ids and words, never content. */
export type AlertLabels = Readonly<Record<string, string>>;

const schema = defineEntity({
  name: 'Alert',
  tableName: 'alerts',
  rowLevelSecurity: 'force',
  policies: tenantPolicies('alerts', 'tenant'),
  indexes: [
    ...tenantIndexes('alerts'),
    uniqueIndex('alerts', 'window', '(rule_id, fingerprint, window_key)'),
    index('alerts', 'open', '(rule_id) where resolved_at is null'),
    index('alerts', 'resolved', '(resolved_at) where resolved_at is not null'),
  ],
  uniques: [{ name: 'alerts_tenant_key', properties: ['id', 'organizationId'] }],
  checks: [{ name: 'alerts_resolved', expression: "(status = 'resolved') = (resolved_at is not null)" }],
  properties: {
    id: idColumn(),
    organizationId: uuidColumn(),
    /** Workspace of the rule, or of the group where the rule groups by workspace. */
    workspaceId: uuidColumn().strictNullable(),
    ruleId: uuidColumn(),
    fingerprint: p.text(),
    /** Together with rule and fingerprint, identifies the cause of one alert. */
    windowKey: p.text(),
    labels: jsonColumn<AlertLabels>(() => ({})),
    status: p.enum(alertStatuses),
    severity: p.enum(alertSeverities),
    title: p.text(),
    value: decimalColumn(44, 9).strictNullable(),
    threshold: decimalColumn(20, 9).strictNullable(),
    openedAt: timeColumn(),
    lastSeenAt: timeColumn(),
    acknowledgedAt: timeColumn().strictNullable(),
    acknowledgedByUserId: uuidColumn().strictNullable(),
    snoozedUntil: timeColumn().strictNullable(),
    resolvedAt: timeColumn().strictNullable(),
    resolvedByUserId: uuidColumn().strictNullable(),
    resolution: p.enum(alertResolutions).strictNullable(),
    /** Number of the next event that is sent. */
    nextSeq: p.integer().default(1),
    version: versionColumn(),
    createdAt: createdAtColumn(),
    updatedAt: updatedAtColumn(),
  },
});

/** One cause, from its first breach to its end. */
export class Alert extends schema.class {}
schema.setClass(Alert);
