import { defineEntity, p } from '@mikro-orm/core';
import { createdAtColumn, idColumn, timeColumn, uuidColumn } from '../columns.ts';
import { index, tenantIndexes, uniqueIndex } from '../indexes.ts';
import { tenantPolicies } from '../policies.ts';

const schema = defineEntity({
  name: 'Impersonation',
  tableName: 'impersonations',
  rowLevelSecurity: 'force',
  policies: tenantPolicies('impersonations', 'tenant'),
  indexes: [
    ...tenantIndexes('impersonations'),
    uniqueIndex('impersonations', 'token_hash', '(token_hash)'),
    index('impersonations', 'target', '(target_user_id)'),
  ],
  properties: {
    id: idColumn(),
    operatorUserId: uuidColumn(),
    targetUserId: uuidColumn(),
    organizationId: uuidColumn(),
    workspaceId: uuidColumn().strictNullable(),
    reason: p.text(),
    tokenHash: p.blob().$type<Buffer>(),
    startedAt: timeColumn(),
    expiresAt: timeColumn(),
    endedAt: timeColumn().strictNullable(),
    endedByUserId: uuidColumn().strictNullable(),
    createdAt: createdAtColumn(),
  },
});

/** An operator working as a user for at most an hour, with a reason that stays on record. */
export class Impersonation extends schema.class {}
schema.setClass(Impersonation);
