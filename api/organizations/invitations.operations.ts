import { mapPage } from '../../db/page.ts';
import { listInvitationRows, seeInvitation, type InvitationRow } from '../../db/tenancy/people/invitations.ts';
import { lockInvitation } from '../../domain/tenancy/invitations.ts';
import { invite, resendInvitation, revokeInvitation } from '../../domain/tenancy/inviting.ts';
import { noteOfRow } from '../http/operation/audit.ts';
import { inRefreshCookie, mayUseRefreshCookie } from '../http/credentials/refresh-cookie.ts';
import { LoginView } from '../http/views/login-view.ts';
import { get, list, post, remove, type Ctx } from '../http/operation/operation.ts';
import { accept, attemptAcceptance } from './accept-invitation.ts';
import { changesOf } from '../http/operation/changes.ts';
import {
  InvitationAccept,
  InvitationCreate,
  InvitationParams,
  InvitationQuery,
  InvitationView,
  toInvitationView,
} from './invitation.schema.ts';

export const invitationOperations = {
  listInvitations: list(
    '/invitations',
    {
      summary: 'List invitations',
      description:
        'Invitations to the workspaces of the caller, and to the organization for callers with access to all of it; newest first.',
      access: 'admin',
      paging: 'keyset',
      query: InvitationQuery,
      view: InvitationView,
    },
    async (ctx, { query }) =>
      mapPage(await listInvitationRows(ctx, { status: query.status, workspaceId: query.workspace_id }, ctx.page), toInvitationView),
  ),

  createInvitation: post(
    '/invitations',
    {
      summary: 'Invite a user',
      description:
        "Mails a link with which the reader becomes a user with at most the caller's own role; a service key or a connected app can only invite viewers and members. An earlier invitation of the address is revoked. At most 100 invitations can be pending per organization.",
      access: 'admin',
      fails: ['not_found', 'already_exists', 'state_conflict'],
      audit: 'create',
      // An account created on another user's behalf would outlive the delegation.
      notDelegable: true,
      idempotent: true,
      location: (view: { readonly id: string }) => `/invitations/${view.id}`,
      body: InvitationCreate,
      view: InvitationView,
      example: { body: { email: 'grace@example.com', role: 'member' } },
    },
    async (ctx, { body }) => {
      const invitation = await invite(ctx, mailKeysOf(ctx), body);
      ctx.audit(
        noteOfRow('invitation', invitation, {
          email: { changed: true },
          role: { from: null, to: invitation.role },
          scope: { from: null, to: invitation.scope },
        }),
      );
      return toInvitationView(invitation);
    },
  ),

  getInvitation: get(
    '/invitations/{invitation_id}',
    {
      summary: 'Read an invitation',
      description: 'One invitation with its state; sent_at is null until the mail has left.',
      access: 'admin',
      params: InvitationParams,
      view: InvitationView,
    },
    async (ctx, { params }) => toInvitationView(await seeInvitation(ctx, params.invitation_id)),
  ),

  revokeInvitation: remove(
    '/invitations/{invitation_id}',
    {
      summary: 'Revoke an invitation',
      description: 'Its link stops working at once. 409 for an accepted invitation; repeating the request returns the same answer.',
      access: 'admin',
      fails: ['state_conflict'],
      audit: 'delete',
      openWhenSuspended: true,
      params: InvitationParams,
    },
    async (ctx, { params }) => {
      const invitation = await lockInvitation(ctx, params.invitation_id, { openWhenSuspended: true });
      const revoked = await revokeInvitation(ctx, invitation);

      ctx.audit(noteOfRow('invitation', revoked, changesOf(invitation, revoked, ['status'])));
    },
  ),

  resendInvitation: post(
    '/invitations/{invitation_id}/resend',
    {
      summary: 'Resend an invitation',
      description:
        'Mails a new link with a new expiry; the old link stops working at once. The caller who resends it counts as the inviter from then on. At most once a minute and ten times in all.',
      access: 'admin',
      fails: ['state_conflict'],
      audit: 'update',
      success: [202],
      params: InvitationParams,
      view: InvitationView,
    },
    async (ctx, { params }) => {
      const invitation = await lockInvitation(ctx, params.invitation_id, { mayCountAgain: true });
      const renewed = await resendInvitation(ctx, mailKeysOf(ctx), invitation);

      ctx.audit(
        noteOfRow('invitation', renewed, {
          token: { changed: true },
          ...changesOf(auditedOf(invitation), auditedOf(renewed)),
        }),
      );
      return toInvitationView(renewed);
    },
  ),

  acceptInvitation: post(
    '/invitations/accept',
    {
      summary: 'Accept an invitation',
      description:
        'Creates the invited user, identified by token and address together, and signs them in as a login would. Any problem with the token or address gets the same 410.',
      ...mayUseRefreshCookie,
      access: 'none',
      fails: ['state_conflict', 'gone', 'resource_frozen', 'resource_forbidden'],
      audit: 'create',
      success: [200],
      identify: attemptAcceptance,
      body: InvitationAccept,
      view: LoginView,
      example: {
        body: {
          token: 'lh_ml_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA',
          email: 'grace@example.com',
          full_name: 'Grace Hopper',
          password: 'violet anchor meadow 42',
        },
      },
    },
    async (ctx, { identified }) => inRefreshCookie(ctx, identified.cookie, await accept(ctx, identified)),
  ),
};

function auditedOf({ status, expiresAt, invitedByUserId }: InvitationRow) {
  return { status, expires_at: expiresAt, invited_by_user_id: invitedByUserId };
}

function mailKeysOf({ deps }: Ctx) {
  return deps.env.mail === null ? null : deps.keys;
}
