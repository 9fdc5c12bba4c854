import { defineEntity, p } from '@mikro-orm/core';
import { createdAtColumn, idColumn, timeColumn, uuidColumn } from '../../columns.ts';
import { tenantIndexes } from '../../indexes.ts';
import { tenantPolicies } from '../../policies.ts';
import { cancelPolicies } from '../run.entity.ts';
import type { CancelFilter } from './cancellable-runs.ts';

const schema = defineEntity({
  name: 'BulkCancel',
  tableName: 'bulk_cancels',
  rowLevelSecurity: 'force',
  policies: tenantPolicies('bulk_cancels', 'tenant'),
  indexes: [...tenantIndexes('bulk_cancels')],
  properties: {
    id: idColumn(),
    organizationId: uuidColumn(),
    workspaceId: uuidColumn(),
    /** The caller's filter; runs that were created later are not included. */
    filter: p.json<CancelFilter>(),
    policy: p.enum(cancelPolicies),
    reason: p.text().strictNullable(),
    cancelled: p.integer().default(0),
    finishedAt: timeColumn().strictNullable(),
    createdAt: createdAtColumn(),
  },
});

/** A cancel of more runs than one request may end: the workflow `cancel:<id>` ends the rest. One row per workspace. */
export class BulkCancel extends schema.class {}
schema.setClass(BulkCancel);
