import { defineEntity, p } from '@mikro-orm/core';
import { scopes } from '../../workflows/contracts/access.ts';
import {
  createdAtColumn,
  idColumn,
  jsonColumn,
  textArrayColumn,
  timeColumn,
  updatedAtColumn,
  uuidColumn,
  versionColumn,
} from '../columns.ts';
import { index, rowScopeCheck, scopedIndexes, slugIndexes } from '../indexes.ts';
import { tenantPolicies } from '../policies.ts';

export const toolkitKinds = ['mcp', 'openapi', 'manual'] as const;
export type ToolkitKind = (typeof toolkitKinds)[number];

const schema = defineEntity({
  name: 'Toolkit',
  tableName: 'toolkits',
  rowLevelSecurity: 'force',
  policies: tenantPolicies('toolkits', 'scoped'),
  indexes: [
    ...scopedIndexes('toolkits'),
    ...slugIndexes('toolkits'),
    index('toolkits', 'next_sync', '(next_sync_at) where next_sync_at is not null and deleted_at is null'),
  ],
  uniques: [{ name: 'toolkits_tenant_key', properties: ['id', 'organizationId'] }],
  checks: [rowScopeCheck('toolkits')],
  properties: {
    id: idColumn(),
    scope: p.enum(scopes),
    organizationId: uuidColumn().strictNullable(),
    workspaceId: uuidColumn().strictNullable(),
    slug: p.text(),
    name: p.text(),
    description: p.text().strictNullable(),
    kind: p.enum(toolkitKinds),
    config: jsonColumn<Record<string, unknown>>(() => ({})),
    secretsRequired: textArrayColumn()
      .onCreate(() => [])
      .defaultRaw("'{}'"),
    activeRevisionId: uuidColumn().strictNullable(),
    isActive: p.boolean().default(true),
    /** The result of the last check of an MCP server. */
    reachable: p.boolean().strictNullable(),
    checkedAt: timeColumn().strictNullable(),
    server: p.json<Record<string, unknown>>().strictNullable(),
    protocolVersion: p.text().strictNullable(),
    lastError: p.text().strictNullable(),
    nextSyncAt: timeColumn().strictNullable(),
    rowVersion: versionColumn(),
    createdAt: createdAtColumn(),
    updatedAt: updatedAtColumn(),
    deletedAt: timeColumn().strictNullable(),
  },
});

/** A versioned group of tools: an MCP server, an OpenAPI document, or a manual collection. */
export class Toolkit extends schema.class {}
schema.setClass(Toolkit);
