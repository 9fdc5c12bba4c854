import { defineEntity, p } from '@mikro-orm/core';
import { createdAtColumn, currencyColumn, idColumn, timeColumn, updatedAtColumn, uuidColumn, versionColumn } from '../../columns.ts';
import { tenantIndexes, uniqueIndex } from '../../indexes.ts';
import { tenantPolicies } from '../../policies.ts';

const schema = defineEntity({
  name: 'Workspace',
  tableName: 'workspaces',
  rowLevelSecurity: 'force',
  policies: tenantPolicies('workspaces', 'tenant', { self: 'workspace' }),
  indexes: [...tenantIndexes('workspaces'), uniqueIndex('workspaces', 'slug', '(organization_id, slug)')],
  uniques: [{ name: 'workspaces_tenant_key', properties: ['id', 'organizationId'] }],
  properties: {
    id: idColumn(),
    organizationId: uuidColumn(),
    slug: p.text(),
    name: p.text(),
    description: p.text().strictNullable(),
    timezone: p.text().default('UTC'),
    currency: currencyColumn().default('USD'),
    isActive: p.boolean().default(true),
    archivedAt: timeColumn().strictNullable(),
    purgeAfter: timeColumn().strictNullable(),
    createdAt: createdAtColumn(),
    updatedAt: updatedAtColumn(),
    version: versionColumn(),
  },
});

/** A part of an organization; slugs of archived workspaces stay taken. */
export class Workspace extends schema.class {}
schema.setClass(Workspace);
