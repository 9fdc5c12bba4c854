import { defineEntity, p } from '@mikro-orm/core';
import type { PersonaDocument } from './persona-document.ts';
import { createdAtColumn, idColumn, timeColumn, updatedAtColumn, uuidColumn, versionColumn } from '../../columns.ts';
import { tenantIndexes, uniqueIndex } from '../../indexes.ts';
import { tenantPolicies } from '../../policies.ts';

const schema = defineEntity({
  name: 'Persona',
  tableName: 'personas',
  rowLevelSecurity: 'force',
  policies: tenantPolicies('personas', 'child'),
  indexes: [
    ...tenantIndexes('personas'),
    uniqueIndex('personas', 'slug', '(agent_id, slug) where deleted_at is null'),
    uniqueIndex('personas', 'default', '(agent_id) where is_default and deleted_at is null'),
  ],
  uniques: [{ name: 'personas_tenant_key', properties: ['id', 'organizationId'] }],
  properties: {
    id: idColumn(),
    agentId: uuidColumn(),
    organizationId: uuidColumn().strictNullable(),
    workspaceId: uuidColumn().strictNullable(),
    slug: p.text(),
    isDefault: p.boolean().default(false),
    isActive: p.boolean().default(true),
    version: p.integer().default(1),
    document: p.json<PersonaDocument>(),
    rowVersion: versionColumn(),
    createdAt: createdAtColumn(),
    updatedAt: updatedAtColumn(),
    deletedAt: timeColumn().strictNullable(),
  },
});

/** A variant of an agent: it narrows the revision and adds its own voice. */
export class Persona extends schema.class {}
schema.setClass(Persona);
