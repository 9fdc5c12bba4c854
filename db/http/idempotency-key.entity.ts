import { defineEntity, p } from '@mikro-orm/core';
import { createdAtColumn, idColumn, timeColumn, uuidArrayColumn, uuidColumn } from '../columns.ts';
import { index, uniqueIndex } from '../indexes.ts';
import { tenantPolicies } from '../policies.ts';

export const idempotencyStates = ['running', 'done'] as const;

const schema = defineEntity({
  name: 'IdempotencyKey',
  tableName: 'idempotency_keys',
  rowLevelSecurity: 'force',
  policies: tenantPolicies('idempotency_keys', 'open'),
  indexes: [
    uniqueIndex(
      'idempotency_keys',
      'request',
      '(organization_id, workspace_id, principal_kind, principal_id, acting_user_id, method, route, key) nulls not distinct',
    ),
    index('idempotency_keys', 'expires', '(expires_at)'),
    // Used by an erasure to find the replies.
    index('idempotency_keys', 'shown', 'using gin (shown_ids)'),
  ],
  properties: {
    id: idColumn(),
    organizationId: uuidColumn().strictNullable(),
    workspaceId: uuidColumn().strictNullable(),
    principalKind: p.text(),
    principalId: uuidColumn(),
    actingUserId: uuidColumn().strictNullable(),
    method: p.text(),
    route: p.text(),
    key: p.text(),
    fingerprint: p.blob().$type<Buffer>(),
    state: p.enum(idempotencyStates),
    leaseUntil: timeColumn().strictNullable(),
    status: p.smallint().strictNullable(),
    headers: p.json<Record<string, string>>().strictNullable(),
    /** Rows whose views the reply contains. */
    shownIds: uuidArrayColumn()
      .onCreate(() => [])
      .defaultRaw("'{}'"),
    /** Null once the reply was erased. */
    body: p.blob().$type<Buffer>().strictNullable(),
    bodyKeyId: p.text().strictNullable(),
    createdAt: createdAtColumn(),
    expiresAt: timeColumn(),
  },
});

/** One use of an Idempotency-Key and, once done, the reply that a repeat gets. */
export class IdempotencyKey extends schema.class {}
schema.setClass(IdempotencyKey);
