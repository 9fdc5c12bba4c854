import { defineEntity, p } from '@mikro-orm/core';
import { createdAtColumn, idColumn, timeColumn, updatedAtColumn, uuidColumn } from '../columns.ts';
import { index, tenantIndexes, uniqueIndex } from '../indexes.ts';
import { tenantPolicies } from '../policies.ts';

/** `pending`: another try follows; `stopped`: the receiver wants no more, or the endpoint or the run is deleted. */
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
    /** Also identifies it to the receiver: `webhook-id`. */
    id: idColumn(),
    organizationId: uuidColumn(),
    workspaceId: uuidColumn(),
    endpointId: uuidColumn(),
    runId: uuidColumn(),
    /** The delivery whose data the run has. There is no foreign key: the delivery may be deleted by age before it. */
    deliveryId: uuidColumn(),
    /** The endpoint's address when the run ended. */
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

/** The result of a run of an endpoint, to be sent to the endpoint's callback address. */
export class OutboundCallback extends schema.class {}
schema.setClass(OutboundCallback);
