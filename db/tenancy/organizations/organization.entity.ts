import { defineEntity, p } from '@mikro-orm/core';
import { createdAtColumn, idColumn, timeColumn, updatedAtColumn, versionColumn } from '../../columns.ts';
import { uniqueIndex } from '../../indexes.ts';
import { tenantPolicies } from '../../policies.ts';

export const organizationStatuses = ['active', 'suspended', 'deleting'] as const;

const schema = defineEntity({
  name: 'Organization',
  tableName: 'organizations',
  rowLevelSecurity: 'force',
  policies: tenantPolicies('organizations', 'tenant', { self: 'organization' }),
  indexes: [uniqueIndex('organizations', 'slug', '(slug)')],
  checks: [{ name: 'organizations_delete_after', expression: "(status = 'deleting') = (delete_after is not null)" }],
  properties: {
    id: idColumn(),
    name: p.text(),
    slug: p.text(),
    timezone: p.text().default('UTC'),
    status: p.enum(organizationStatuses).default('active'),
    suspendedAt: timeColumn().strictNullable(),
    suspendedReason: p.text().strictNullable(),
    deleteAfter: timeColumn().strictNullable(),
    purgedAt: timeColumn().strictNullable(),
    createdAt: createdAtColumn(),
    updatedAt: updatedAtColumn(),
    version: versionColumn(),
  },
});

/** The tenant. No caller outside of it sees any of its data. */
export class Organization extends schema.class {}
schema.setClass(Organization);
