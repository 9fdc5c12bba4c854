import { defineEntity, p } from '@mikro-orm/core';
import { createdAtColumn, idColumn, jsonColumn, timeColumn, updatedAtColumn, uuidColumn, versionColumn } from '../columns.ts';
import { uniqueIndex } from '../indexes.ts';
import { tenantPolicies } from '../policies.ts';

export const purgeStatuses = ['queued', 'running', 'succeeded', 'failed'] as const;

const schema = defineEntity({
  name: 'Purge',
  tableName: 'purges',
  rowLevelSecurity: 'force',
  policies: tenantPolicies('purges', 'tenant', { hasWorkspace: false }),
  indexes: [uniqueIndex('purges', 'open', "(organization_id) where status in ('queued', 'running')")],
  properties: {
    id: idColumn(),
    organizationId: uuidColumn(),
    /** The reason in the operator's words; null for a purge that was due by time. */
    reason: p.text().strictNullable(),
    requestedByUserId: uuidColumn().strictNullable(),
    status: p.enum(purgeStatuses).default('queued'),
    step: p.text().strictNullable(),
    /** Rows deleted so far, by table. */
    counts: jsonColumn<Record<string, number>>(() => ({})),
    lastError: p.text().strictNullable(),
    startedAt: timeColumn().strictNullable(),
    finishedAt: timeColumn().strictNullable(),
    createdAt: createdAtColumn(),
    updatedAt: updatedAtColumn(),
    version: versionColumn(),
  },
});

/** The removal of everything an organization had, and its progress. */
export class Purge extends schema.class {}
schema.setClass(Purge);
