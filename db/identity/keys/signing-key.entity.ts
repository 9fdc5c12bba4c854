import { defineEntity, p } from '@mikro-orm/core';
import { createdAtColumn, timeColumn } from '../../columns.ts';
import { uniqueIndex } from '../../indexes.ts';
import { tenantPolicies } from '../../policies.ts';

export const signingKeyStates = ['next', 'current', 'retired'] as const;

const schema = defineEntity({
  name: 'SigningKey',
  tableName: 'signing_keys',
  rowLevelSecurity: 'force',
  policies: tenantPolicies('signing_keys', 'platform'),
  indexes: [uniqueIndex('signing_keys', 'current', "(state) where state = 'current'")],
  properties: {
    kid: p.text().primary(),
    publicJwk: p.json<Record<string, unknown>>(),
    privateEnc: p.blob().$type<Buffer>(),
    state: p.enum(signingKeyStates),
    createdAt: createdAtColumn(),
    currentAt: timeColumn().strictNullable(),
    retiredAt: timeColumn().strictNullable(),
  },
});

/** A key that signs access tokens; the private half is an envelope. */
export class SigningKey extends schema.class {}
schema.setClass(SigningKey);
