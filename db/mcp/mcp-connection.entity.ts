import { defineEntity, p } from '@mikro-orm/core';
import { createdAtColumn, idColumn, textArrayColumn, timeColumn, updatedAtColumn, uuidColumn, versionColumn } from '../columns.ts';
import { index, uniqueIndex } from '../indexes.ts';
import { tenantPolicies } from '../policies.ts';

export const mcpPrincipalKinds = ['shared', 'user'] as const;
export const mcpConnectionStates = ['healthy', 'needs_auth', 'error'] as const;

const schema = defineEntity({
  name: 'McpConnection',
  tableName: 'mcp_connections',
  rowLevelSecurity: 'force',
  policies: tenantPolicies('mcp_connections', 'child'),
  indexes: [
    uniqueIndex('mcp_connections', 'principal', '(toolkit_id, principal_kind, principal_id) nulls not distinct'),
    // Used by an erasure to find a person's own connections.
    index('mcp_connections', 'person', "(principal_id) where principal_kind = 'user'"),
  ],
  uniques: [{ name: 'mcp_connections_tenant_key', properties: ['id', 'organizationId'] }],
  properties: {
    id: idColumn(),
    toolkitId: uuidColumn(),
    organizationId: uuidColumn().strictNullable(),
    workspaceId: uuidColumn().strictNullable(),
    principalKind: p.enum(mcpPrincipalKinds),
    principalId: uuidColumn().strictNullable(),
    issuer: p.text().strictNullable(),
    /** Client and tokens, encrypted together. */
    grantEnc: p.blob().$type<Buffer>().strictNullable(),
    scopes: textArrayColumn()
      .onCreate(() => [])
      .defaultRaw("'{}'"),
    expiresAt: timeColumn().strictNullable(),
    state: p.enum(mcpConnectionStates),
    lastError: p.text().strictNullable(),
    authorizationUrl: p.text().strictNullable(),
    refreshUntil: timeColumn().strictNullable(),
    rowVersion: versionColumn(),
    createdAt: createdAtColumn(),
    updatedAt: updatedAtColumn(),
  },
});

/** What a toolkit needs to reach its MCP server, shared or for one user. */
export class McpConnection extends schema.class {}
schema.setClass(McpConnection);
