import { defineEntity, p } from '@mikro-orm/core';
import { createdAtColumn, timeColumn, uuidColumn } from '../columns.ts';
import { index } from '../indexes.ts';
import { tenantPolicies } from '../policies.ts';

const schema = defineEntity({
  name: 'OauthCode',
  tableName: 'oauth_codes',
  rowLevelSecurity: 'force',
  policies: tenantPolicies('oauth_codes', 'person'),
  indexes: [index('oauth_codes', 'user', '(user_id)'), index('oauth_codes', 'expires', '(expires_at)')],
  properties: {
    codeHash: p.blob().$type<Buffer>().primary(),
    clientId: p.text(),
    userId: uuidColumn(),
    organizationId: uuidColumn().strictNullable(),
    /** The session that approved it. */
    approverSessionId: uuidColumn().strictNullable(),
    /** The session that the exchange has opened; it is revoked when the code is presented a second time. */
    sessionId: uuidColumn().strictNullable(),
    redirectUri: p.text(),
    codeChallenge: p.text(),
    scope: p.text(),
    resource: p.text(),
    createdAt: createdAtColumn(),
    expiresAt: timeColumn(),
    usedAt: timeColumn().strictNullable(),
  },
});

/** An authorization code, bound to user, client, redirect, challenge, scope and resource; allows one exchange within 60 s. */
export class OauthCode extends schema.class {}
schema.setClass(OauthCode);
