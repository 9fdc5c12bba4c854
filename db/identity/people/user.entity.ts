import { defineEntity, p } from '@mikro-orm/core';
import { roles, scopes } from '../../../workflows/contracts/access.ts';
import { createdAtColumn, idColumn, timeColumn, updatedAtColumn, uuidColumn, versionColumn } from '../../columns.ts';
import { index, rowScopeCheck, tenantIndexes, uniqueIndex } from '../../indexes.ts';
import { tenantPolicies } from '../../policies.ts';

const schema = defineEntity({
  name: 'User',
  tableName: 'users',
  rowLevelSecurity: 'force',
  policies: tenantPolicies('users', 'person', { person: 'id' }),
  indexes: [
    ...tenantIndexes('users'),
    index('users', 'workspace', '(workspace_id)'),
    uniqueIndex('users', 'email', '(email) where deleted_at is null'),
  ],
  uniques: [{ name: 'users_tenant_key', properties: ['id', 'organizationId'] }],
  checks: [
    rowScopeCheck('users'),
    { name: 'users_email_folded', expression: 'email = lower(email)' },
    { name: 'users_operator_is_platform', expression: "(role = 'operator') = (scope = 'platform')" },
  ],
  properties: {
    id: idColumn(),
    /** Trimmed, NFC, lower case; empty once the user is deleted. */
    email: p.text(),
    fullName: p.text().strictNullable(),
    role: p.enum(roles),
    scope: p.enum(scopes),
    organizationId: uuidColumn().strictNullable(),
    workspaceId: uuidColumn().strictNullable(),
    isActive: p.boolean().default(true),
    locale: p.text().strictNullable(),
    lastLoginAt: timeColumn().strictNullable(),
    deactivatedAt: timeColumn().strictNullable(),
    deletedAt: timeColumn().strictNullable(),
    createdAt: createdAtColumn(),
    updatedAt: updatedAtColumn(),
    version: versionColumn(),
  },
});

/** A person. Id and audit rows outlive deletion; address, name and credentials do not. */
export class User extends schema.class {}
schema.setClass(User);
