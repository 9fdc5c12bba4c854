import { defineEntity } from '@mikro-orm/core';
import { createdAtColumn, timeColumn, uuidColumn } from '../columns.ts';
import { tenantPolicies } from '../policies.ts';

const schema = defineEntity({
  name: 'ToolLease',
  tableName: 'tool_leases',
  rowLevelSecurity: 'force',
  policies: tenantPolicies('tool_leases', 'tenant'),
  properties: {
    workspaceId: uuidColumn().primary(),
    toolId: uuidColumn().primary(),
    organizationId: uuidColumn(),
    callId: uuidColumn(),
    expiresAt: timeColumn(),
    createdAt: createdAtColumn(),
  },
});

/** Who holds an exclusive tool in a workspace; expires unless it is renewed. */
export class ToolLease extends schema.class {}
schema.setClass(ToolLease);
