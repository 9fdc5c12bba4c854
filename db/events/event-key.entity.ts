import { defineEntity, p } from '@mikro-orm/core';
import { timeColumn, uuidColumn } from '../columns.ts';
import { index } from '../indexes.ts';
import { tenantPolicies } from '../policies.ts';

const schema = defineEntity({
  name: 'EventKey',
  tableName: 'event_keys',
  rowLevelSecurity: 'force',
  policies: tenantPolicies('event_keys', 'tenant'),
  indexes: [index('event_keys', 'expires', '(expires_at)')],
  properties: {
    workspaceId: uuidColumn().primary(),
    /** SHA-256 of the publisher's `dedupe_key`. */
    digest: p.blob().$type<Buffer>().primary(),
    organizationId: uuidColumn(),
    /** There is no foreign key: the row is written before its event, and deleted before it. */
    eventId: uuidColumn(),
    expiresAt: timeColumn(),
  },
});

/** Identifies a repeated event: each counts once in 24 hours. */
export class EventKey extends schema.class {}
schema.setClass(EventKey);
