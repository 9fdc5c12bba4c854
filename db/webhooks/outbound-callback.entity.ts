import { defineEntity, p } from '@mikro-orm/core';
import { createdAtColumn, idColumn, timeColumn, updatedAtColumn, uuidColumn } from '../columns.ts';
import { index, tenantIndexes, uniqueIndex } from '../indexes.ts';
import { tenantPolicies } from '../policies.ts';

/** `pending`: another try follows; `stopped`: the receiver wants no more, or the endpoint or the run is gone. */
export const callbackStatuses = ['pending', 'delivered', 'failed', 'stopped'] as const;
export type CallbackStatus = (typeof callbackStatuses)[number];

const schema = defineEntity({
  name: 'OutboundCallback',
  tableName: 'outbound_callbacks',
  rowLevelSecurity: 'force',
  policies: tenantPolicies('outbound_callbacks', 'tenant'),
  indexes: [
    ...tenantIndexes('outbound_callbacks'),
    uniqueIndex('outbound_callbacks', 'run', '(endpoint_id, run_id)'),
    index('outbound_callbacks', 'run', '(run_id)'),
    index('outbound_callbacks', 'age', '(created_at)'),
    index('outbound_callbacks', 'failed', "(organization_id, updated_at) where status = 'failed'"),
    index('outbound_callbacks', 'pending', "(id) where status = 'pending'"),
  ],
  properties: {
    /** Names it for the receiver, too: `webhook-id`. */
    id: idColumn(),
    organizationId: uuidColumn(),
    workspaceId: uuidColumn(),
    endpointId: uuidColumn(),
    runId: uuidColumn(),
    /** The delivery whose data the run has. No key holds it: the delivery may go by age before it. */
    deliveryId: uuidColumn(),
    /** That of the endpoint when the run ended. */
    url: p.text(),
    status: p.enum(callbackStatuses).default('pending'),
    attempts: p.integer().default(0),
    lastStatus: p.integer().strictNullable(),
    lastError: p.text().strictNullable(),
    nextAttemptAt: timeColumn().strictNullable(),
    createdAt: createdAtColumn(),
    updatedAt: updatedAtColumn(),
  },
});

/** What a run of an endpoint came to, on its way to the endpoint's callback address. */
export class OutboundCallback extends schema.class {}
schema.setClass(OutboundCallback);
