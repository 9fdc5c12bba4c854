import { defineEntity, p } from '@mikro-orm/core';
import { createdAtColumn, timeColumn, uuidColumn } from '../columns.ts';
import { index } from '../indexes.ts';
import { tenantPolicies } from '../policies.ts';

const schema = defineEntity({
  name: 'McpAuthorization',
  tableName: 'mcp_authorizations',
  rowLevelSecurity: 'force',
  policies: tenantPolicies('mcp_authorizations', 'child'),
  indexes: [index('mcp_authorizations', 'expires', '(expires_at)')],
  properties: {
    stateHash: p.text().primary(),
    connectionId: uuidColumn(),
    organizationId: uuidColumn().strictNullable(),
    workspaceId: uuidColumn().strictNullable(),
    verifierEnc: p.blob().$type<Buffer>(),
    expiresAt: timeColumn(),
    usedAt: timeColumn().strictNullable(),
    createdAt: createdAtColumn(),
  },
});

/** A pending consent: its state can be used once, within ten minutes. */
export class McpAuthorization extends schema.class {}
schema.setClass(McpAuthorization);
