import { defineEntity, p } from '@mikro-orm/core';
import { createdAtColumn, idColumn, uuidColumn } from '../columns.ts';
import { uniqueIndex } from '../indexes.ts';
import { tenantPolicies } from '../policies.ts';
import type { ToolDescriptor } from './tool-descriptor.ts';

const schema = defineEntity({
  name: 'ToolVersion',
  tableName: 'tool_versions',
  rowLevelSecurity: 'force',
  policies: tenantPolicies('tool_versions', 'child'),
  indexes: [uniqueIndex('tool_versions', 'version', '(tool_id, version)')],
  properties: {
    id: idColumn(),
    toolId: uuidColumn(),
    organizationId: uuidColumn().strictNullable(),
    workspaceId: uuidColumn().strictNullable(),
    version: p.integer(),
    /** The toolkit's revision that created it. */
    toolkitRevisionId: uuidColumn().strictNullable(),
    descriptor: p.json<ToolDescriptor>(),
    createdAt: createdAtColumn(),
  },
});

/** A tool as of one version; runs pin it. */
export class ToolVersion extends schema.class {}
schema.setClass(ToolVersion);
