import { defineEntity, p } from '@mikro-orm/core';
import { createdAtColumn, timeColumn, updatedAtColumn, uuidColumn, writtenAtColumn } from '../../columns.ts';
import { tenantPolicies } from '../../policies.ts';

const schema = defineEntity({
  name: 'UserCredential',
  tableName: 'user_credentials',
  rowLevelSecurity: 'force',
  policies: tenantPolicies('user_credentials', 'person'),
  properties: {
    userId: uuidColumn().primary(),
    organizationId: uuidColumn().strictNullable(),
    passwordHash: p.text().strictNullable(),
    passwordChangedAt: writtenAtColumn(),
    emailVerifiedAt: timeColumn().strictNullable(),
    pendingEmail: p.text().strictNullable(),
    createdAt: createdAtColumn(),
    updatedAt: updatedAtColumn(),
  },
});

/** What a user signs in with. */
export class UserCredential extends schema.class {}
schema.setClass(UserCredential);
