import { defineEntity, p } from '@mikro-orm/core';
import { createdAtColumn, uuidColumn } from '../columns.ts';
import { tenantPolicies } from '../policies.ts';

const schema = defineEntity({
  name: 'ToolOutput',
  tableName: 'tool_outputs',
  rowLevelSecurity: 'force',
  policies: tenantPolicies('tool_outputs', 'tenant'),
  properties: {
    runId: uuidColumn().primary(),
    callId: uuidColumn().primary(),
    organizationId: uuidColumn(),
    workspaceId: uuidColumn(),
    body: p.text(),
    mediaType: p.text(),
    createdAt: createdAtColumn(),
  },
});

/** The rest of a tool's output beyond what the model saw, for `result_read`; at most 2 MiB. */
export class ToolOutput extends schema.class {}
schema.setClass(ToolOutput);
