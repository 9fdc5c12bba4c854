import { defineEntity, p } from '@mikro-orm/core';
import { scopes } from '../../workflows/contracts/access.ts';
import { createdAtColumn, idColumn, timeColumn, updatedAtColumn, uuidColumn, versionColumn } from '../columns.ts';
import { rowScopeCheck, scopedIndexes, uniqueIndex } from '../indexes.ts';
import { tenantPolicies } from '../policies.ts';

const schema = defineEntity({
  name: 'Secret',
  tableName: 'secrets',
  rowLevelSecurity: 'force',
  policies: tenantPolicies('secrets', 'child'),
  indexes: [
    ...scopedIndexes('secrets'),
    uniqueIndex('secrets', 'name_workspace', "(workspace_id, name) where scope = 'workspace' and tool_id is null"),
    uniqueIndex('secrets', 'name_organization', "(organization_id, name) where scope = 'organization' and tool_id is null"),
    uniqueIndex('secrets', 'name_platform', "(name) where scope = 'platform' and tool_id is null"),
    uniqueIndex('secrets', 'tool_name', '(tool_id, name) where tool_id is not null'),
  ],
  checks: [rowScopeCheck('secrets')],
  properties: {
    id: idColumn(),
    scope: p.enum(scopes),
    organizationId: uuidColumn().strictNullable(),
    workspaceId: uuidColumn().strictNullable(),
    /** Set on a tool's own value. */
    toolId: uuidColumn().strictNullable(),
    name: p.text(),
    description: p.text().strictNullable(),
    /** AES-256-GCM, bound to table, organization, workspace, tool, name and value version. */
    valueEnvelope: p.blob().$type<Buffer>(),
    valueVersion: p.integer().default(1),
    updatedByUserId: uuidColumn().strictNullable(),
    lastUsedAt: timeColumn().strictNullable(),
    createdAt: createdAtColumn(),
    updatedAt: updatedAtColumn(),
    version: versionColumn(),
  },
});

/** A value that tools and channels use by name and that can't be read back. */
export class Secret extends schema.class {}
schema.setClass(Secret);
