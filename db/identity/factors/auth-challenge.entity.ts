import { defineEntity, p } from '@mikro-orm/core';
import { createdAtColumn, idColumn, jsonColumn, timeColumn, uuidColumn } from '../../columns.ts';
import { index, uniqueIndex } from '../../indexes.ts';
import { tenantPolicies } from '../../policies.ts';

export const challengePurposes = ['login', 'password_reset', 'email_confirm'] as const;

const schema = defineEntity({
  name: 'AuthChallenge',
  tableName: 'auth_challenges',
  rowLevelSecurity: 'force',
  policies: tenantPolicies('auth_challenges', 'person'),
  indexes: [
    uniqueIndex('auth_challenges', 'token_hash', '(token_hash)'),
    index('auth_challenges', 'user', '(user_id, purpose)'),
    index('auth_challenges', 'expires', '(expires_at)'),
  ],
  checks: [{ name: 'auth_challenges_attempts', expression: 'attempts <= 5' }],
  properties: {
    id: idColumn(),
    purpose: p.enum(challengePurposes),
    userId: uuidColumn(),
    organizationId: uuidColumn().strictNullable(),
    /** The session that asked for a change of address; the challenge ends with it. Null when no session asked. */
    sessionId: uuidColumn().strictNullable(),
    /** Digest of the token of a mail; a login challenge has none. */
    tokenHash: p.blob().$type<Buffer>().strictNullable(),
    attempts: p.integer().default(0),
    payload: jsonColumn<Record<string, unknown>>(() => ({})),
    createdAt: createdAtColumn(),
    expiresAt: timeColumn(),
    usedAt: timeColumn().strictNullable(),
  },
});

/** Something a person has yet to answer: a second factor at sign-in, or the link of a mail. Valid for its own purpose only. */
export class AuthChallenge extends schema.class {}
schema.setClass(AuthChallenge);
