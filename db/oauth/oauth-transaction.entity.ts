import { defineEntity, p } from '@mikro-orm/core';
import { createdAtColumn, timeColumn, uuidColumn } from '../columns.ts';
import { index } from '../indexes.ts';
import { tenantPolicies } from '../policies.ts';
import type { AuthorizationRequest } from './transactions.ts';

const schema = defineEntity({
  name: 'OauthTransaction',
  tableName: 'oauth_transactions',
  rowLevelSecurity: 'force',
  policies: tenantPolicies('oauth_transactions', 'open', { hasWorkspace: false }),
  indexes: [index('oauth_transactions', 'expires', '(expires_at)')],
  properties: {
    idHash: p.blob().$type<Buffer>().primary(),
    clientId: p.text(),
    request: p.json<AuthorizationRequest>(),
    createdAt: createdAtColumn(),
    expiresAt: timeColumn(),
    decidedAt: timeColumn().strictNullable(),
    userId: uuidColumn().strictNullable(),
    organizationId: uuidColumn().strictNullable(),
  },
});

/** An authorization request between its arrival and the user's decision. */
export class OauthTransaction extends schema.class {}
schema.setClass(OauthTransaction);
