import { defineEntity, p } from '@mikro-orm/core';
import { createdAtColumn, idColumn, timeColumn, writtenAtColumn, updatedAtColumn, uuidColumn, versionColumn } from '../../columns.ts';
import { tenantIndexes, uniqueIndex } from '../../indexes.ts';
import { tenantPolicies } from '../../policies.ts';
import { grantRoles } from '../workspaces/workspace-grant.entity.ts';

export const invitationScopes = ['workspace', 'organization'] as const;
/** As stored; `expired` follows from the clock. */
export const storedInvitationStatuses = ['pending', 'accepted', 'revoked'] as const;

/** Credentials that can invite and are not a person's session. */
export const invitingCredentials = ['service_key', 'oauth_grant', 'oauth_client'] as const;

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
  checks: [
    { name: 'invitations_scope_columns', expression: "(scope = 'workspace') = (workspace_id is not null)" },
    { name: 'invitations_credential', expression: '(credential_kind is null) = (credential_id is null)' },
  ],
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
    /** The service key, OAuth grant (its session) or OAuth client that made it; null: a person's session. */
    credentialKind: p.enum(invitingCredentials).strictNullable(),
    credentialId: uuidColumn().strictNullable(),
    /** When its inviter was deactivated or deleted: no inviter vouches for it until another user sends it anew. */
    unvouchedAt: timeColumn().strictNullable(),
    expiresAt: timeColumn(),
    sentAt: timeColumn().strictNullable(),
    sendCount: p.integer().default(0),
    /** When a mail was last requested, whether or not it has been sent. */
    queuedAt: writtenAtColumn(),
    resendCount: p.integer().default(0),
    acceptedAt: timeColumn().strictNullable(),
    acceptedUserId: uuidColumn().strictNullable(),
    createdAt: createdAtColumn(),
    updatedAt: updatedAtColumn(),
    version: versionColumn(),
  },
});

/** Lets the owner of a mailbox become a user, once. */
export class Invitation extends schema.class {}
schema.setClass(Invitation);
