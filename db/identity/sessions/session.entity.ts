import { defineEntity, p } from '@mikro-orm/core';
import { createdAtColumn, idColumn, timeColumn, uuidColumn } from '../../columns.ts';
import { index } from '../../indexes.ts';
import { tenantPolicies } from '../../policies.ts';

export const sessionKinds = ['login', 'oauth'] as const;
export const mfaLevels = ['none', 'totp', 'recovery_code'] as const;

const schema = defineEntity({
  name: 'Session',
  tableName: 'sessions',
  rowLevelSecurity: 'force',
  policies: tenantPolicies('sessions', 'person'),
  indexes: [
    index('sessions', 'live', '(user_id) where revoked_at is null'),
    index('sessions', 'user', '(user_id, id desc)'),
    index('sessions', 'client', '(client_id) where client_id is not null'),
    index('sessions', 'ended', '(coalesce(revoked_at, least(idle_expires_at, expires_at)))'),
  ],
  checks: [{ name: 'sessions_oauth_has_client', expression: "(kind = 'oauth') = (client_id is not null)" }],
  properties: {
    id: idColumn(),
    userId: uuidColumn(),
    organizationId: uuidColumn().strictNullable(),
    workspaceId: uuidColumn().strictNullable(),
    kind: p.enum(sessionKinds).default('login'),
    clientId: p.text().strictNullable(),
    clientName: p.text().strictNullable(),
    oauthScope: p.text().strictNullable(),
    resource: p.text().strictNullable(),
    deviceLabel: p.text().strictNullable(),
    userAgent: p.text(),
    ipTruncated: p.text(),
    mfaLevel: p.enum(mfaLevels).default('none'),
    verifiedAt: timeColumn(),
    createdAt: createdAtColumn(),
    lastSeenAt: timeColumn(),
    idleExpiresAt: timeColumn(),
    expiresAt: timeColumn(),
    revokedAt: timeColumn().strictNullable(),
    revokeReason: p.text().strictNullable(),
  },
});

/** A device family, or an app's OAuth grant: a login and everything refreshed from it. */
export class Session extends schema.class {}
schema.setClass(Session);
