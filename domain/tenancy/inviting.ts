import { rankOf, type Scope } from '../../workflows/contracts/access.ts';
import { fail, invalid } from '../../workflows/contracts/failure.ts';
import type { KeyRing } from '../../db/key-ring.ts';
import { madeBy } from '../../db/identity/people/creator.ts';
import { normalizeEmail } from '../../db/identity/people/people.ts';
import { resolveNewRowScope } from '../../db/new-row-scope.ts';
import type { Invitation } from '../../db/tenancy/people/invitation.entity.ts';
import type { InvitationRow, LockedInvitation } from '../../db/tenancy/people/invitations.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';
import { lockCreator, creatorLost } from '../identity/people/creator.ts';
import { maxResends, renewInvitation, writeInvitation } from './invitations.ts';
import { lockJoining } from './joining.ts';
import { allowsDomain, refuseDomain } from '../identity/people/email-domains.ts';
import { workspacesOf } from '../../db/caller-scope.ts';
import type { Changing } from '../../db/scope.ts';
import { setRevoked } from '../../db/tenancy/people/write-invitations.ts';
import { maySetUnattended, rankAt, refuseHigherRank, refuseUnattended } from './rank-rules.ts';
import { countPending, situationOf, type Addressee, type Situation } from '../../db/tenancy/people/inviting.ts';

/** The most pending invitations of an organization. */
const maxPending = 100;

/** The addressee of an invitation, and the role and row scope that it offers. */
interface Invited {
  readonly email: string;
  readonly role: Invitation['role'];
  readonly scope?: Scope;
  readonly workspace_id?: string | null;
}

/** Null: this deployment sends no mails. */
type MailKeys = Pick<KeyRing, 'mailKeys'> | null;

/**
 * Invites a person and mails the link. Throws, in this order: 422 for a row scope outside of any organization, 403 for a rank above the caller's own (R1) or,
 * by a key, above member (R4), 409 `no_mailer`, what `lockJoining` refuses, 422 for an address outside of the organization's domains, 409 `already_exists` and
 * `limit_reached`, 401.
 */
export async function invite(ctx: Changing, mailKeys: MailKeys, invited: Invited): Promise<InvitationRow> {
  const { role } = invited;
  const { scope, organizationId, workspaceId } = await resolveNewRowScope(ctx, invited);
  if (organizationId === null || scope === 'platform')
    throw invalid('/scope', 'range', 'an operator names the organization with X-View-Organization, or a workspace');
  refuseUnattended(ctx.caller, role);
  refuseHigherRank(ctx.caller, role, workspaceId);
  if (mailKeys === null) throw noMailer();

  const email = normalizeEmail(invited.email);
  const rules = await lockJoining(ctx, organizationId);
  refuseDomain(email, rules);
  const invitedByUserId = await prepareInvitation(ctx, { organizationId, email });
  const { invitationDays } = rules;
  const written = await writeInvitation(ctx, mailKeys, {
    organizationId,
    workspaceId,
    scope,
    email,
    role,
    invitedByUserId,
    madeBy: madeBy(ctx.caller),
    invitationDays,
  });
  if (!written) throw taken();
  return written;
}

/**
 * Gives an invitation, which the caller has locked, a new link and expiry, and mails it. Throws 409 `not_pending`, `no_mailer`, `email_domain`,
 * `limit_reached`; 429 within the minute; 401 when the sender's access has ended meanwhile.
 */
export async function resendInvitation(ctx: Changing, mailKeys: MailKeys, invitation: LockedInvitation): Promise<InvitationRow> {
  if (invitation.status !== 'pending' && invitation.status !== 'expired') throw notPending();
  if (mailKeys === null) throw noMailer();
  if (!allowsDomain(invitation.email, { emailDomains: invitation.emailDomains }))
    throw fail('state_conflict', { reason: 'email_domain', detail: 'The organization no longer accepts addresses of this domain.' });
  if (invitation.resendCount >= maxResends)
    throw fail('state_conflict', { reason: 'limit_reached', detail: `An invitation can be resent at most ${maxResends} times.` });
  if (invitation.waitSeconds > 0)
    throw fail('rate_limited', { retryAfterS: invitation.waitSeconds, context: { violated_policies: ['invitation_resend'] } });

  // An expired invitation counts again from now on.
  if (invitation.status === 'expired') refuseMorePending(await countPending(ctx, invitation.organizationId));
  // Even when acting as another user, the holder of the credential vouches: the delegation ends, the invitation stays.
  const { userId } = await lockCreator(ctx);
  return renewInvitation(ctx, mailKeys, { locked: invitation, invitedByUserId: userId, madeBy: madeBy(ctx.caller) });
}

/** Ends an invitation, which the caller has locked, and invalidates its token. A revoked one stays as it is; throws 409 `not_pending` for an accepted one. */
export async function revokeInvitation(tx: TenantTransaction, invitation: LockedInvitation): Promise<InvitationRow> {
  if (invitation.status === 'accepted') throw notPending();
  return invitation.status === 'revoked' ? invitation : setRevoked(tx, invitation.id);
}

function noMailer() {
  return fail('state_conflict', {
    reason: 'no_mailer',
    detail: 'This deployment cannot send mail: its operator has set neither SMTP_URL nor MAIL_DIR.',
  });
}

function notPending() {
  return fail('state_conflict', { reason: 'not_pending', detail: 'This invitation has already been accepted or revoked.' });
}

/**
 * Prepares an invitation, in an organization that the transaction has locked: revokes an earlier one of the address. Returns the person who invites; for a
 * service key its creator. Throws 409 `already_exists` for a user of the organization, and when the caller may not change the earlier one; `limit_reached`
 * beyond 100 pending; 401 when the inviter's access has ended meanwhile.
 */
async function prepareInvitation(ctx: Changing, addressee: Addressee): Promise<string | null> {
  const { pending, isMember, hasMaker, inviterId, earlier } = await situationOf(ctx, addressee);

  if (!hasMaker) throw creatorLost();
  if (isMember) throw taken();
  // An expired invitation no longer reserves its address, whoever may change it.
  if (earlier && !earlier.isOver && !mayChange(ctx, earlier)) throw taken();
  refuseMorePending(earlier && !earlier.isOver ? pending - 1 : pending);
  if (earlier) await setRevoked(ctx, earlier.id);
  return inviterId;
}

/** 409 `already_exists`: the address belongs to a user, or is invited. */
function taken() {
  return fail('already_exists', { context: { field: 'email' } });
}

/** Throws 409 `limit_reached` when the maximum is pending, not counting the new invitation. */
function refuseMorePending(pending: number): void {
  if (pending >= maxPending)
    throw fail('state_conflict', {
      reason: 'limit_reached',
      detail: `An organization can have at most ${maxPending} pending invitations.`,
    });
}

// An earlier invitation of a workspace that the caller doesn't see isn't found above; the unique key catches it.
function mayChange({ caller, floor }: Changing, earlier: NonNullable<Situation['earlier']>): boolean {
  const isInvisible = earlier.workspaceId === null && workspacesOf(caller) !== null;
  const rank = rankOf(rankAt(caller, earlier.workspaceId));
  return !isInvisible && maySetUnattended(caller, earlier.role) && rank >= rankOf(floor ?? 'admin') && rank >= rankOf(earlier.role);
}
