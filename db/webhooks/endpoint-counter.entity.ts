import { defineEntity, p } from '@mikro-orm/core';
import { bigintColumn, uuidColumn } from '../columns.ts';
import { tenantPolicies } from '../policies.ts';

const schema = defineEntity({
  name: 'EndpointCounter',
  tableName: 'endpoint_counters',
  rowLevelSecurity: 'force',
  policies: tenantPolicies('endpoint_counters', 'tenant'),
  properties: {
    endpointId: uuidColumn().primary(),
    /** 0 to 15: concurrent deliveries of one endpoint rarely wait for each other's row. */
    shard: p.smallint().primary(),
    organizationId: uuidColumn(),
    workspaceId: uuidColumn(),
    n: bigintColumn(),
  },
});

/** One shard of the count of accepted deliveries of an endpoint; the total is the sum. */
export class EndpointCounter extends schema.class {}
schema.setClass(EndpointCounter);
