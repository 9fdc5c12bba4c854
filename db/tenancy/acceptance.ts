import { assertPlaceActive } from '../frozen.ts';
import { rankOf, type Role, type Scope } from '../../workflows/contracts/access.ts';
import { fail } from '../../workflows/contracts/failure.ts';
import { callerOfPerson } from '../identity/caller.ts';
import { askGate } from '../identity/gates.ts';
import type { Person } from '../identity/people.ts';
import type { Databases } from '../databases.ts';
import { row } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';
import { admitsDomain } from './joining.ts';
import { rankAt } from './rank-rules.ts';

/** An invitation with all that decides about its acceptance. */
export interface InvitationAnswer {
  readonly id: string;
  readonly organizationId: string;
  readonly workspaceId: string | null;
  readonly scope: Exclude<Scope, 'platform'>;
  readonly role: Role;
  /** Pending, and not past its end. */
  readonly isOpen: boolean;
  readonly hasInviter: boolean;
  readonly inviter: Person | null;
  /** The inviter was deactivated since, or the key, grant or client that invited was ended. */
  readonly isUnvouched: boolean;
  /** Domains that the organization admits today; none: any. */
  readonly emailDomains: readonly string[];
  readonly organizationStatus: string;
  readonly isWorkspaceActive: boolean | null;
  readonly isFactorRequired: boolean;
  readonly idleDays: number | null;
  readonly absoluteDays: number | null;
  /** The address is a user's, somewhere; and one of this organization. */
  readonly isUser: boolean;
  readonly isMember: boolean;
}

/** The invitation of a token that was sent to a normalized address; null unless both fit. */
export async function findInvitation(db: Databases, hash: Buffer, email: string): Promise<InvitationAnswer | null> {
  return askGate(db, 'gate_invitation($1, $2)', [hash, email]);
}

/** Whoever may invite: the floor of createInvitation. */
const invitingRole = 'admin';

/** What an accepted invitation makes of a person. */
interface Acceptance {
  readonly invitation: InvitationAnswer;
  readonly tokenHash: Buffer;
  readonly userId: string;
  readonly email: string;
  readonly fullName: string | null;
  readonly passwordHash: string;
}

/** One answer for a token that is unknown, used, expired or revoked, and for another address. */
export function noInvitation() {
  return fail('gone', { detail: 'this invitation is not open to this address, or not any more' });
}

/**
 * Whether an invitation that was shown with its token and address may be accepted. In this order: 410 when it is not open, 410 `inviter_rank`, 410
 * `email_domain` for an address that the organization admits no more, 423 in a frozen place, 409 `already_member` or `belongs_elsewhere`.
 */
export function judgeInvitation(invitation: InvitationAnswer, email: string): void {
  if (!invitation.isOpen) throw noInvitation();
  if (!isVouchedFor(invitation))
    throw fail('gone', { reason: 'inviter_rank', detail: 'whoever sent this invitation may not invite to this any more' });
  if (!admitsDomain(email, invitation))
    throw fail('gone', { reason: 'email_domain', detail: 'the organization admits no addresses of this domain any more' });
  assertPlaceActive(invitation.organizationStatus, invitation.isWorkspaceActive);
  if (invitation.isUser) throw addressTaken(invitation.isMember);
}

/**
 * Accepts an invitation and makes the user, with the address verified: one statement, whose conditional update decides between two at once.
 * 410 for the loser; 409 when the address has become a user's meanwhile.
 */
export async function acceptInvitation(tx: TenantTransaction, acceptance: Acceptance): Promise<void> {
  const { invitation, userId, email } = acceptance;
  const done = await row<{ won: boolean; made: boolean }>(
    tx.em,
    `with won as (
       update invitations set status = 'accepted', accepted_at = now(), accepted_user_id = ?::uuid, version = version + 1, updated_at = now()
       where id = ? and token_hash = ? and status = 'pending' and expires_at > now()
       returning role, scope, organization_id, workspace_id),
     made as (
       insert into users (id, email, full_name, role, scope, organization_id, workspace_id)
       select ?::uuid, ?, ?, role, scope, organization_id, workspace_id from won
       on conflict (email) where deleted_at is null do nothing
       returning id, organization_id),
     credential as (
       insert into user_credentials (user_id, organization_id, password_hash, email_verified_at) select id, organization_id, ?, now() from made)
     select exists (select from won) as won, exists (select from made) as made`,
    [userId, invitation.id, acceptance.tokenHash, userId, email, acceptance.fullName, acceptance.passwordHash],
  );
  if (!done?.won) throw noInvitation();
  if (done.made) return;

  const member = await row(tx.em, 'select id from users where organization_id = ? and email = ? and deleted_at is null', [
    invitation.organizationId,
    email,
  ]);
  throw addressTaken(member !== null);
}

// The rank counts as it is today, in the place to which the invitation leads.
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
    ? fail('state_conflict', { reason: 'already_member', detail: 'this address is of a member already' })
    : fail('state_conflict', { reason: 'belongs_elsewhere', detail: 'this address belongs to a user elsewhere' });
}
