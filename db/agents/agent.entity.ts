import { defineEntity, p } from '@mikro-orm/core';
import { scopes } from '../../workflows/contracts/access.ts';
import { createdAtColumn, idColumn, jsonColumn, timeColumn, updatedAtColumn, uuidColumn, versionColumn } from '../columns.ts';
import { rowScopeCheck, scopedIndexes, slugIndexes } from '../indexes.ts';
import { tenantPolicies } from '../policies.ts';

export const avatarPresets = ['analyst', 'archivist', 'builder', 'courier', 'gardener', 'navigator', 'scribe', 'sentinel'] as const;

const schema = defineEntity({
  name: 'Agent',
  tableName: 'agents',
  rowLevelSecurity: 'force',
  policies: tenantPolicies('agents', 'scoped'),
  indexes: [...scopedIndexes('agents'), ...slugIndexes('agents')],
  uniques: [{ name: 'agents_tenant_key', properties: ['id', 'organizationId'] }],
  checks: [rowScopeCheck('agents')],
  properties: {
    id: idColumn(),
    scope: p.enum(scopes),
    organizationId: uuidColumn().strictNullable(),
    workspaceId: uuidColumn().strictNullable(),
    slug: p.text(),
    name: p.text(),
    description: p.text().strictNullable(),
    avatarPreset: p.enum(avatarPresets).strictNullable(),
    imageUrl: p.text().strictNullable(),
    isActive: p.boolean().default(true),
    attributes: jsonColumn<Record<string, unknown>>(() => ({})),
    activeRevisionId: uuidColumn().strictNullable(),
    createdByUserId: uuidColumn().strictNullable(),
    rowVersion: versionColumn(),
    createdAt: createdAtColumn(),
    updatedAt: updatedAtColumn(),
    deletedAt: timeColumn().strictNullable(),
  },
});

/** An agent; its active revision says what it does. */
export class Agent extends schema.class {}
schema.setClass(Agent);
