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
    /** 0 to 15: deliveries of one endpoint that come at once don't wait for each other's row. */
    shard: p.smallint().primary(),
    organizationId: uuidColumn(),
    workspaceId: uuidColumn(),
    n: bigintColumn(),
  },
});

/** A part of the deliveries that an endpoint has taken; their number is the sum. */
export class EndpointCounter extends schema.class {}
schema.setClass(EndpointCounter);
