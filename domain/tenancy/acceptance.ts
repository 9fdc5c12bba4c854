import { assertScopeActive } from '../../db/frozen.ts';
import { rankOf } from '../../workflows/contracts/access.ts';
import { fail } from '../../workflows/contracts/failure.ts';
import { callerOfPerson } from '../identity/callers/caller.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';
import { allowsDomain } from '../identity/people/email-domains.ts';
import { rankAt } from './rank-rules.ts';
import { writeAcceptance, isMemberAddress, type Acceptance } from '../../db/tenancy/people/write-invitations.ts';
import type { InvitationAnswer } from '../../db/tenancy/people/acceptance.ts';

/** The lowest role that may invite: the floor of createInvitation. */
const invitingRole = 'admin';

/** The same answer for a token that is unknown, used, expired or revoked, and for another address. */
export function noInvitation() {
  return fail('gone', { detail: 'This invitation is not, or is no longer, valid for this address.' });
}

/**
 * Checks whether an invitation may be accepted with this token and address. Throws, in this order: 410 when it is not open, 410 `inviter_rank`, 410
 * `email_domain` for an address that the organization no longer allows, 423 in a frozen workspace or organization, 409 `already_member` or `belongs_elsewhere`.
 */
export function judgeInvitation(invitation: InvitationAnswer, email: string): void {
  if (!invitation.isOpen) throw noInvitation();
  if (!isVouchedFor(invitation))
    throw fail('gone', { reason: 'inviter_rank', detail: 'The sender is no longer allowed to send this invitation.' });
  if (!allowsDomain(email, invitation))
    throw fail('gone', { reason: 'email_domain', detail: 'The organization no longer accepts addresses of this domain.' });
  assertScopeActive(invitation.organizationStatus, invitation.isWorkspaceActive);
  if (invitation.isUser) throw addressTaken(invitation.isMember);
}

/**
 * Accepts an invitation and creates the user, with the address verified: one statement, whose conditional update decides between concurrent requests. Throws
 * 410 for the loser; 409 when the address has become another user's meanwhile.
 */
export async function acceptInvitation(tx: TenantTransaction, acceptance: Acceptance): Promise<void> {
  const { invitation, email } = acceptance;
  const done = await writeAcceptance(tx, acceptance);
  if (!done?.won) throw noInvitation();
  if (done.made) return;

  throw addressTaken(await isMemberAddress(tx, invitation.organizationId, email));
}

// The inviter's rank counts as it is today, in the workspace or organization of the invitation.
function isVouchedFor({ isUnvouched, hasInviter, inviter, organizationId, workspaceId, scope, role }: InvitationAnswer): boolean {
  if (isUnvouched) return false;
  if (!hasInviter) return true;
  if (!inviter?.isActive) return false;
  const caller = callerOfPerson(inviter, null);
  if (caller.scope === 'platform') return true;

  if (caller.organizationId !== organizationId || (scope === 'organization' && caller.workspaces !== 'all')) return false;
  const rank = rankOf(rankAt(caller, workspaceId));
  return rank >= rankOf(invitingRole) && rank >= rankOf(role);
}

function addressTaken(isMember: boolean) {
  return isMember
    ? fail('state_conflict', { reason: 'already_member', detail: 'This address already belongs to a member.' })
    : fail('state_conflict', { reason: 'belongs_elsewhere', detail: 'This address already belongs to a user of another organization.' });
}
