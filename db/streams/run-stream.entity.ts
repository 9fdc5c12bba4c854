import { defineEntity, p } from '@mikro-orm/core';
import { bigintColumn, updatedAtColumn, uuidColumn } from '../columns.ts';
import { index } from '../indexes.ts';
import { tenantPolicies } from '../policies.ts';

const schema = defineEntity({
  name: 'RunStream',
  tableName: 'run_streams',
  rowLevelSecurity: 'force',
  policies: tenantPolicies('run_streams', 'tenant'),
  // The updated_at of an ended row is the time of its end: no later write changes it.
  indexes: [index('run_streams', 'ended', '(updated_at) where ended')],
  properties: {
    runId: uuidColumn().primary(),
    organizationId: uuidColumn(),
    workspaceId: uuidColumn(),
    rootRunId: uuidColumn(),
    headSeq: bigintColumn().default(0),
    ended: p.boolean().default(false),
    cancelRequested: p.boolean().default(false),
    updatedAt: updatedAtColumn(),
  },
});

/** Head of a run's frames; its row lock serializes the writers. */
export class RunStream extends schema.class {}
schema.setClass(RunStream);
