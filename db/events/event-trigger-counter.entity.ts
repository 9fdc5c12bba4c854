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
    /** 0 to 15: concurrent events rarely wait for each other's row. */
    shard: p.smallint().primary(),
    organizationId: uuidColumn(),
    workspaceId: uuidColumn(),
    n: bigintColumn(),
  },
});

/** One shard of the count of a trigger's accepted events; the total is the sum. */
export class EventTriggerCounter extends schema.class {}
schema.setClass(EventTriggerCounter);
