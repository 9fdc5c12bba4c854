import { defineEntity, p } from '@mikro-orm/core';
import { idColumn, jsonColumn, timeColumn, uuidColumn } from '../columns.ts';
import { index, tenantIndexes } from '../indexes.ts';
import { tenantPolicies } from '../policies.ts';
import { hookMethods } from './webhook-endpoint.entity.ts';

/**
 * `started`: a run has its data; `published`: an event and no run; `coalescing`: waits for others; `merged`: a run of others stands for it; `dropped`: its endpoint
 * went before its group closed; `rejected`: not verified; `failed`: verified, and no run could be started.
 */
export const webhookDeliveryStatuses = ['started', 'published', 'coalescing', 'merged', 'dropped', 'rejected', 'failed'] as const;
export type WebhookDeliveryStatus = (typeof webhookDeliveryStatuses)[number];

/** Something that the delivery's sender, or who set the endpoint up, may want to mend. */
export interface DeliveryWarning {
  readonly code: string;
  readonly field: string;
  readonly message: string;
}

const schema = defineEntity({
  name: 'WebhookDelivery',
  tableName: 'webhook_deliveries',
  rowLevelSecurity: 'force',
  policies: tenantPolicies('webhook_deliveries', 'tenant'),
  indexes: [
    ...tenantIndexes('webhook_deliveries'),
    index('webhook_deliveries', 'endpoint', '(endpoint_id, id desc)'),
    index('webhook_deliveries', 'rejected', "(endpoint_id, received_at) where status = 'rejected'"),
    index('webhook_deliveries', 'run', '(run_id) where run_id is not null'),
    index('webhook_deliveries', 'coalescing', "(endpoint_id, coalesce_hash) where status = 'coalescing'"),
    index('webhook_deliveries', 'closed', '(endpoint_id, coalesce_hash, closed_at) where closed_at is not null'),
    index('webhook_deliveries', 'event', '(event_id) where event_id is not null'),
    index('webhook_deliveries', 'age', '(received_at)'),
    index('webhook_deliveries', 'body', '(received_at) where body is not null'),
  ],
  properties: {
    id: idColumn(),
    organizationId: uuidColumn(),
    workspaceId: uuidColumn(),
    endpointId: uuidColumn(),
    status: p.enum(webhookDeliveryStatuses),
    method: p.enum(hookMethods),
    /** The header by which it was verified. */
    verificationForm: p.text().strictNullable(),
    /** The sender's own id of it. */
    deliveryKey: p.text().strictNullable(),
    receivedAt: timeColumn().defaultRaw('now()'),
    occurredAt: timeColumn(),
    contentType: p.text().strictNullable(),
    /** Null once it is past its days, and of what was rejected. */
    body: p.blob().$type<Buffer>().strictNullable(),
    bodyBytes: p.integer(),
    headers: jsonColumn<Record<string, string>>(() => ({})),
    query: jsonColumn<Record<string, string>>(() => ({})),
    runId: uuidColumn().strictNullable(),
    /** No key holds it: events go by age, too. */
    eventId: uuidColumn().strictNullable(),
    /** The group with which it became a run; set when the group is taken. */
    groupId: uuidColumn().strictNullable(),
    /** SHA-256 of its key; null: nothing is coalesced. */
    coalesceHash: p.blob().$type<Buffer>().strictNullable(),
    /** When a run of its key was started with it. */
    closedAt: timeColumn().strictNullable(),
    /** How many hooks its cause has come through before this one. */
    hops: p.smallint().default(0),
    /** No key holds it: the delivery that it repeats goes by age before it. */
    replayOf: uuidColumn().strictNullable(),
    duplicateCount: p.integer().default(0),
    warnings: jsonColumn<DeliveryWarning[]>(() => []),
    errorCode: p.text().strictNullable(),
    errorReason: p.text().strictNullable(),
    responseStatus: p.smallint(),
  },
});

/** One request that came to an endpoint, and what became of it. */
export class WebhookDelivery extends schema.class {}
schema.setClass(WebhookDelivery);
