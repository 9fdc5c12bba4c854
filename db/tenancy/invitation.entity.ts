import { defineEntity, p } from '@mikro-orm/core';
import { createdAtColumn, idColumn, timeColumn, updatedAtColumn, uuidColumn, versionColumn } from '../columns.ts';
import { tenantIndexes, uniqueIndex } from '../indexes.ts';
import { tenantPolicies } from './policies.ts';
import { grantRoles } from './workspace-grant.entity.ts';

export const invitationScopes = ['workspace', 'organization'] as const;
/** As stored; `expired` follows from the clock. */
export const storedInvitationStatuses = ['pending', 'accepted', 'revoked'] as const;

const schema = defineEntity({
  name: 'Invitation',
  tableName: 'invitations',
  rowLevelSecurity: 'force',
  policies: tenantPolicies('invitations', 'tenant'),
  indexes: [
    ...tenantIndexes('invitations'),
    uniqueIndex('invitations', 'token_hash', '(token_hash)'),
    uniqueIndex('invitations', 'pending', "(organization_id, email) where status = 'pending'"),
  ],
  checks: [{ name: 'invitations_scope_columns', expression: "(scope = 'workspace') = (workspace_id is not null)" }],
  properties: {
    id: idColumn(),
    organizationId: uuidColumn(),
    workspaceId: uuidColumn().strictNullable(),
    scope: p.enum(invitationScopes),
    /** Trimmed, NFC, lower case. */
    email: p.text(),
    role: p.enum(grantRoles),
    tokenHash: p.blob().$type<Buffer>(),
    status: p.enum(storedInvitationStatuses).default('pending'),
    invitedByUserId: uuidColumn().strictNullable(),
    expiresAt: timeColumn(),
    sentAt: timeColumn().strictNullable(),
    sendCount: p.integer().default(0),
    /** When a mail was last asked for, whether or not it has left. */
    queuedAt: timeColumn()
      .onCreate(() => new Date())
      .defaultRaw('now()'),
    resendCount: p.integer().default(0),
    acceptedAt: timeColumn().strictNullable(),
    acceptedUserId: uuidColumn().strictNullable(),
    createdAt: createdAtColumn(),
    updatedAt: updatedAtColumn(),
    version: versionColumn(),
  },
});

/** Lets whoever reads a mailbox become a user, once. */
export class Invitation extends schema.class {}
schema.setClass(Invitation);
