import { defineEntity, p } from '@mikro-orm/core';
import { bigintColumn, createdAtColumn, timeColumn, uuidColumn } from '../../columns.ts';
import { tenantPolicies } from '../../policies.ts';

const schema = defineEntity({
  name: 'TotpFactor',
  tableName: 'totp_factors',
  rowLevelSecurity: 'force',
  policies: tenantPolicies('totp_factors', 'person'),
  properties: {
    userId: uuidColumn().primary(),
    organizationId: uuidColumn().strictNullable(),
    secretEnc: p.blob().$type<Buffer>(),
    createdAt: createdAtColumn(),
    expiresAt: timeColumn().strictNullable(),
    confirmedAt: timeColumn().strictNullable(),
    /** Time step of the last accepted code: this step and earlier ones are spent (RFC 6238 §5.2). */
    lastStep: bigintColumn().strictNullable(),
  },
});

/** A second factor; counts once it is confirmed. */
export class TotpFactor extends schema.class {}
schema.setClass(TotpFactor);
