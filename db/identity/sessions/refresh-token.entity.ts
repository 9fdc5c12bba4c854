import { defineEntity, p } from '@mikro-orm/core';
import { createdAtColumn, idColumn, timeColumn, uuidColumn } from '../../columns.ts';
import { index, uniqueIndex } from '../../indexes.ts';
import { tenantPolicies } from '../../policies.ts';

const schema = defineEntity({
  name: 'RefreshToken',
  tableName: 'refresh_tokens',
  rowLevelSecurity: 'force',
  policies: tenantPolicies('refresh_tokens', 'person'),
  indexes: [
    uniqueIndex('refresh_tokens', 'token_hash', '(token_hash)'),
    index('refresh_tokens', 'session', '(session_id)'),
    index('refresh_tokens', 'expires', '(expires_at)'),
  ],
  properties: {
    id: idColumn(),
    sessionId: uuidColumn(),
    userId: uuidColumn(),
    organizationId: uuidColumn().strictNullable(),
    tokenHash: p.blob().$type<Buffer>(),
    parentId: uuidColumn().strictNullable(),
    oauthScope: p.text().strictNullable(),
    createdAt: createdAtColumn(),
    expiresAt: timeColumn(),
    usedAt: timeColumn().strictNullable(),
  },
});

/** One link of a session's chain of refresh tokens; used once. */
export class RefreshToken extends schema.class {}
schema.setClass(RefreshToken);
