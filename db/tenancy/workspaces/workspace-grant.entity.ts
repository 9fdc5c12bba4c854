import { defineEntity, p } from '@mikro-orm/core';
import { createdAtColumn, updatedAtColumn, uuidColumn, versionColumn } from '../../columns.ts';
import { index } from '../../indexes.ts';
import { tenantPolicies } from '../../policies.ts';

export const grantRoles = ['viewer', 'member', 'admin', 'owner'] as const;

const schema = defineEntity({
  name: 'WorkspaceGrant',
  tableName: 'workspace_grants',
  rowLevelSecurity: 'force',
  policies: tenantPolicies('workspace_grants', 'tenant'),
  indexes: [index('workspace_grants', 'user', '(user_id)')],
  properties: {
    workspaceId: uuidColumn().primary(),
    userId: uuidColumn().primary(),
    organizationId: uuidColumn(),
    role: p.enum(grantRoles),
    grantedByUserId: uuidColumn().strictNullable(),
    createdAt: createdAtColumn(),
    updatedAt: updatedAtColumn(),
    version: versionColumn(),
  },
});

/** Lets a user with another home work in a workspace; the rank there is the lower of grant and home role. */
export class WorkspaceGrant extends schema.class {}
schema.setClass(WorkspaceGrant);
