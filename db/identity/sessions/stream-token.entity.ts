import { defineEntity, p } from '@mikro-orm/core';
import { createdAtColumn, timeColumn, uuidColumn } from '../../columns.ts';
import { index } from '../../indexes.ts';
import { tenantPolicies } from '../../policies.ts';

const schema = defineEntity({
  name: 'StreamToken',
  tableName: 'stream_tokens',
  rowLevelSecurity: 'force',
  policies: tenantPolicies('stream_tokens', 'tenant'),
  indexes: [index('stream_tokens', 'expires', '(expires_at)'), index('stream_tokens', 'session', '(session_id) where used_at is null')],
  properties: {
    tokenHash: p.blob().$type<Buffer>().primary(),
    runId: uuidColumn(),
    organizationId: uuidColumn(),
    workspaceId: uuidColumn(),
    principalKind: p.text(),
    principalId: uuidColumn(),
    sessionId: uuidColumn().strictNullable(),
    actingUserId: uuidColumn().strictNullable(),
    createdAt: createdAtColumn(),
    expiresAt: timeColumn(),
    usedAt: timeColumn().strictNullable(),
  },
});

/** Opens one WebSocket of one run, once, within 60 s. */
export class StreamToken extends schema.class {}
schema.setClass(StreamToken);
