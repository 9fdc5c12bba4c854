import { defineEntity, p } from '@mikro-orm/core';
import { bigintColumn, uuidColumn } from '../columns.ts';
import { tenantPolicies } from '../policies.ts';

const schema = defineEntity({
  name: 'EventTriggerCounter',
  tableName: 'event_trigger_counters',
  rowLevelSecurity: 'force',
  policies: tenantPolicies('event_trigger_counters', 'tenant'),
  properties: {
    triggerId: uuidColumn().primary(),
    /** 0 to 15: events that come at once don't wait for each other's row. */
    shard: p.smallint().primary(),
    organizationId: uuidColumn(),
    workspaceId: uuidColumn(),
    n: bigintColumn(),
  },
});

/** A part of the events that a trigger has taken; their number is the sum. */
export class EventTriggerCounter extends schema.class {}
schema.setClass(EventTriggerCounter);
