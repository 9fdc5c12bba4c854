import { defineEntity, p } from '@mikro-orm/core';
import { createdAtColumn, idColumn, textArrayColumn, timeColumn, updatedAtColumn, uuidColumn, versionColumn } from '../../columns.ts';
import { index, tenantIndexes, uniqueIndex } from '../../indexes.ts';
import { tenantPolicies } from '../../policies.ts';

export const serviceKeyScopes = ['workspace', 'organization'] as const;
export const serviceKeyRoles = ['viewer', 'member', 'admin'] as const;

const schema = defineEntity({
  name: 'ServiceKey',
  tableName: 'service_keys',
  rowLevelSecurity: 'force',
  policies: tenantPolicies('service_keys', 'tenant'),
  indexes: [
    ...tenantIndexes('service_keys'),
    index('service_keys', 'creator', '(created_by_user_id)'),
    uniqueIndex('service_keys', 'key_hash', '(key_hash)'),
  ],
  checks: [{ name: 'service_keys_scope_columns', expression: "(scope = 'workspace') = (workspace_id is not null)" }],
  properties: {
    id: idColumn(),
    organizationId: uuidColumn(),
    workspaceId: uuidColumn().strictNullable(),
    scope: p.enum(serviceKeyScopes),
    name: p.text(),
    role: p.enum(serviceKeyRoles).default('member'),
    scopes: textArrayColumn()
      .defaultRaw("'{*}'")
      .onCreate(() => ['*']),
    prefix: p.text(),
    last4: p.text().fieldName('last4'),
    keyHash: p.blob().$type<Buffer>(),
    createdByUserId: uuidColumn(),
    createdAt: createdAtColumn(),
    updatedAt: updatedAtColumn(),
    expiresAt: timeColumn().strictNullable(),
    lastUsedAt: timeColumn().strictNullable(),
    rotatedAt: timeColumn().strictNullable(),
    revokedAt: timeColumn().strictNullable(),
    version: versionColumn(),
  },
});

/** A back end's credential; never stronger than its creator is today. */
export class ServiceKey extends schema.class {}
schema.setClass(ServiceKey);
