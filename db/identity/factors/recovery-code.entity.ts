import { defineEntity, p } from '@mikro-orm/core';
import { createdAtColumn, timeColumn, uuidColumn } from '../../columns.ts';
import { tenantPolicies } from '../../policies.ts';

const schema = defineEntity({
  name: 'RecoveryCode',
  tableName: 'recovery_codes',
  rowLevelSecurity: 'force',
  policies: tenantPolicies('recovery_codes', 'person'),
  properties: {
    userId: uuidColumn().primary(),
    codeHash: p.blob().$type<Buffer>().primary(),
    organizationId: uuidColumn().strictNullable(),
    createdAt: createdAtColumn(),
    usedAt: timeColumn().strictNullable(),
  },
});

/** Replaces a lost second factor, once. */
export class RecoveryCode extends schema.class {}
schema.setClass(RecoveryCode);
