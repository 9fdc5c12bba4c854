import { defineEntity, p } from '@mikro-orm/core';
import { timeColumn, uuidColumn } from '../columns.ts';
import { index } from '../indexes.ts';
import { tenantPolicies } from '../policies.ts';

const schema = defineEntity({
  name: 'DeliveryKey',
  tableName: 'delivery_keys',
  rowLevelSecurity: 'force',
  policies: tenantPolicies('delivery_keys', 'tenant'),
  indexes: [index('delivery_keys', 'expires', '(expires_at)')],
  properties: {
    endpointId: uuidColumn().primary(),
    /** SHA-256 of the sender's id of a delivery, or of the text that it signed. */
    digest: p.blob().$type<Buffer>().primary(),
    organizationId: uuidColumn(),
    workspaceId: uuidColumn(),
    /** There is no foreign key: the row is written before its delivery, and deleted before it. */
    deliveryId: uuidColumn(),
    expiresAt: timeColumn(),
  },
});

/** Identifies a repeated delivery: each counts once in 24 hours. */
export class DeliveryKey extends schema.class {}
schema.setClass(DeliveryKey);
