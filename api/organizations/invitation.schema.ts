import Type, { type Static } from 'typebox';
import { iso } from '../../db/sql.ts';
import { invitationScopes } from '../../db/tenancy/people/invitation.entity.ts';
import { invitationStatuses, type InvitationRow } from '../../db/tenancy/people/invitations.ts';
import { grantRoles } from '../../db/tenancy/workspaces/workspace-grant.entity.ts';
import { closed, Email, idOf, integer, nullable, oneOf, text, Timestamp } from '../http/input/schema.ts';

export const InvitationParams = closed({ invitation_id: idOf('Invitation') });

export const InvitationQuery = closed({
  status: Type.Optional(oneOf(invitationStatuses)),
  workspace_id: Type.Optional(idOf('Workspace')),
});

export const InvitationCreate = closed(
  {
    email: Email,
    role: oneOf(grantRoles, { description: "At most the caller's own" }),
    scope: Type.Optional(oneOf(invitationScopes, { description: "Defaults to the caller's own" })),
    workspace_id: Type.Optional(nullable(idOf('Workspace', 'Home of the future user'))),
  },
  { $id: 'InvitationCreate' },
);

export const InvitationAccept = closed(
  {
    token: text(200, { minLength: 1, description: 'From the mail' }),
    email: Email,
    full_name: Type.Optional(nullable(text(200, { minLength: 1 }))),
    password: text(256, { minLength: 1 }),
  },
  { $id: 'InvitationAccept' },
);

export const InvitationView = closed(
  {
    id: idOf('Invitation'),
    email: Email,
    role: oneOf(grantRoles),
    scope: oneOf(invitationScopes),
    organization_id: idOf('Organization'),
    workspace_id: nullable(idOf('Workspace')),
    status: oneOf(invitationStatuses),
    invited_by_user_id: nullable(idOf('User')),
    expires_at: Timestamp,
    sent_at: nullable(Timestamp),
    send_count: integer(),
    accepted_at: nullable(Timestamp),
    accepted_user_id: nullable(idOf('User')),
    created_at: Timestamp,
    updated_at: Timestamp,
  },
  { $id: 'InvitationView', description: 'Lets the reader of a mailbox become a user, once' },
);

export function toInvitationView(row: InvitationRow): Static<typeof InvitationView> {
  return {
    id: row.id,
    email: row.email,
    role: row.role,
    scope: row.scope,
    organization_id: row.organizationId,
    workspace_id: row.workspaceId,
    status: row.status,
    invited_by_user_id: row.invitedByUserId,
    expires_at: iso(row.expiresAt),
    sent_at: iso(row.sentAt),
    send_count: row.sendCount,
    accepted_at: iso(row.acceptedAt),
    accepted_user_id: row.acceptedUserId,
    created_at: iso(row.createdAt),
    updated_at: iso(row.updatedAt),
  };
}
