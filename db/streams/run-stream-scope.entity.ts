import { defineEntity, p } from '@mikro-orm/core';
import { bigintColumn, uuidArrayColumn, uuidColumn } from '../columns.ts';
import { tenantPolicies } from '../policies.ts';

const schema = defineEntity({
  name: 'RunStreamScope',
  tableName: 'run_stream_scopes',
  rowLevelSecurity: 'force',
  policies: tenantPolicies('run_stream_scopes', 'tenant'),
  properties: {
    runId: uuidColumn().primary(),
    scope: p.text().primary(),
    organizationId: uuidColumn(),
    workspaceId: uuidColumn(),
    attempt: p.integer(),
    batch: p.integer(),
    firstSeq: bigintColumn(),
    lastSeq: bigintColumn(),
    openMessageIds: uuidArrayColumn()
      .onCreate(() => [])
      .defaultRaw("'{}'"),
  },
});

/** The fence of one writer of a run; only `append_frames` writes it. */
export class RunStreamScope extends schema.class {}
schema.setClass(RunStreamScope);
