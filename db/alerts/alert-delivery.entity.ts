import { defineEntity, p } from '@mikro-orm/core';
import { createdAtColumn, idColumn, timeColumn, updatedAtColumn, uuidColumn } from '../columns.ts';
import { index, tenantIndexes, uniqueIndex } from '../indexes.ts';
import { tenantPolicies } from '../policies.ts';
import type { AlertSnapshot } from './alert-snapshot.ts';
import type { DeliveryTarget } from './alert-target.ts';

export const deliveryEvents = ['firing', 'escalated', 'repeated', 'resolved', 'test'] as const;
export type DeliveryEvent = (typeof deliveryEvents)[number];
/** `failed` is tried again, `dead` is not. */
export const deliveryStatuses = ['queued', 'sent', 'failed', 'dead'] as const;

const schema = defineEntity({
  name: 'AlertDelivery',
  tableName: 'alert_deliveries',
  rowLevelSecurity: 'force',
  policies: tenantPolicies('alert_deliveries', 'tenant'),
  indexes: [
    ...tenantIndexes('alert_deliveries'),
    uniqueIndex('alert_deliveries', 'target', '(alert_id, seq, target_key)'),
    index('alert_deliveries', 'rule', '(rule_id)'),
    index('alert_deliveries', 'dead', "(organization_id, updated_at) where status = 'dead'"),
    index('alert_deliveries', 'age', '(created_at)'),
    index('alert_deliveries', 'open', "(id) where status in ('queued', 'failed')"),
  ],
  properties: {
    /** Also identifies it to the receiver: `webhook-id` and Message-ID. */
    id: idColumn(),
    organizationId: uuidColumn(),
    workspaceId: uuidColumn().strictNullable(),
    ruleId: uuidColumn(),
    /** Null: a test of the rule. */
    alertId: uuidColumn().strictNullable(),
    seq: p.integer(),
    event: p.enum(deliveryEvents),
    /** `user:<id>`, `webhook:<digest>`, `slack:<digest>`: each receiver gets one notice per event. */
    targetKey: p.text(),
    target: p.json<DeliveryTarget>(),
    /** The alert as it was when this happened: every try sends the same. */
    snapshot: p.json<AlertSnapshot>(),
    status: p.enum(deliveryStatuses).default('queued'),
    attempts: p.integer().default(0),
    lastStatus: p.integer().strictNullable(),
    lastError: p.text().strictNullable(),
    latencyMs: p.integer().strictNullable(),
    nextAttemptAt: timeColumn().strictNullable(),
    sentAt: timeColumn().strictNullable(),
    createdAt: createdAtColumn(),
    updatedAt: updatedAtColumn(),
  },
});

/** One notice to one receiver, and its outcome. */
export class AlertDelivery extends schema.class {}
schema.setClass(AlertDelivery);
