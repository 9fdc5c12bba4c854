import { defineEntity, p } from '@mikro-orm/core';
import { idColumn, jsonColumn, timeColumn, uuidColumn } from '../columns.ts';
import { index, tenantIndexes } from '../indexes.ts';
import { tenantPolicies } from '../policies.ts';
import { hookMethods } from './webhook-endpoint.entity.ts';

/**
 * `started`: a run has its data; `published`: an event and no run; `coalescing`: waits for others; `merged`: a run with the data of others stands for it;
 * `dropped`: its endpoint was deleted or stopped before its group closed; `rejected`: not verified; `failed`: verified, and no run could be started.
 */
export const webhookDeliveryStatuses = ['started', 'published', 'coalescing', 'merged', 'dropped', 'rejected', 'failed'] as const;
export type WebhookDeliveryStatus = (typeof webhookDeliveryStatuses)[number];

/** A problem that the delivery's sender, or the user who set up the endpoint, may want to fix. */
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
    /** The header that verified it. */
    verificationForm: p.text().strictNullable(),
    /** The sender's own id of it. */
    deliveryKey: p.text().strictNullable(),
    receivedAt: timeColumn().defaultRaw('now()'),
    occurredAt: timeColumn(),
    contentType: p.text().strictNullable(),
    /** Null once it is past its days, and for rejected deliveries. */
    body: p.blob().$type<Buffer>().strictNullable(),
    bodyBytes: p.integer(),
    headers: jsonColumn<Record<string, string>>(() => ({})),
    query: jsonColumn<Record<string, string>>(() => ({})),
    runId: uuidColumn().strictNullable(),
    /** There is no foreign key: events are deleted by age, too. */
    eventId: uuidColumn().strictNullable(),
    /** The group with which it became a run; set when the group is taken. */
    groupId: uuidColumn().strictNullable(),
    /** SHA-256 of its key; null: nothing is coalesced. */
    coalesceHash: p.blob().$type<Buffer>().strictNullable(),
    /** When a run of its key was started with it. */
    closedAt: timeColumn().strictNullable(),
    /** How many hooks its cause came through before this one. */
    hops: p.smallint().default(0),
    /** There is no foreign key: the repeated delivery is deleted by age before this one. */
    replayOf: uuidColumn().strictNullable(),
    duplicateCount: p.integer().default(0),
    warnings: jsonColumn<DeliveryWarning[]>(() => []),
    errorCode: p.text().strictNullable(),
    errorReason: p.text().strictNullable(),
    responseStatus: p.smallint(),
  },
});

/** One request to an endpoint, and its outcome. */
export class WebhookDelivery extends schema.class {}
schema.setClass(WebhookDelivery);
