import { row } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import type { InvitationAnswer } from './acceptance.ts';
import type { MadeBy } from '../../identity/people/creator.ts';
import type { Predicate } from '../../scope.ts';
import type { Invitation } from './invitation.entity.ts';
import { columns, type InvitationRow } from './invitations.ts';

/** The user that an accepted invitation creates. */
export interface Acceptance {
  readonly invitation: InvitationAnswer;
  readonly tokenHash: Buffer;
  readonly userId: string;
  readonly email: string;
  readonly fullName: string | null;
  readonly passwordHash: string;
}

/** Accepts an open invitation and creates its user, unless the address is taken. Returns whether each of the two was done. */
export function writeAcceptance(
  tx: TenantTransaction,
  { invitation, tokenHash, userId, email, fullName, passwordHash }: Acceptance,
): Promise<{ readonly won: boolean; readonly made: boolean } | null> {
  return row<{ won: boolean; made: boolean }>(
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
    [userId, invitation.id, tokenHash, userId, email, fullName, passwordHash],
  );
}

/** Whether an address belongs to a user of an organization. */
export async function isMemberAddress(tx: TenantTransaction, organizationId: string, email: string): Promise<boolean> {
  const member = await row(tx.em, 'select id from users where organization_id = ? and email = ? and deleted_at is null', [
    organizationId,
    email,
  ]);
  return member !== null;
}

/** Counts a mail of an invitation; returns its workspace and the number of mails, or null when it no longer exists. */
export function countSent(
  tx: TenantTransaction,
  invitationId: string,
): Promise<{ readonly workspace_id: string | null; readonly send_count: number } | null> {
  return row<{ workspace_id: string | null; send_count: number }>(
    tx.em,
    `update invitations set sent_at = now(), send_count = send_count + 1, version = version + 1, updated_at = now()
    where id = ? returning workspace_id, send_count`,
    [invitationId],
  );
}

/** A new invitation that meets the rules. */
export interface NewInvitation {
  readonly organizationId: string;
  readonly workspaceId: string | null;
  readonly scope: Invitation['scope'];
  /** Normalized. */
  readonly email: string;
  readonly role: Invitation['role'];
  readonly invitedByUserId: string | null;
  /** Null: made by a person's session, or by the deployment itself. */
  readonly madeBy: MadeBy | null;
  readonly invitationDays: number;
}

/** Frees the address of an expired invitation, also where the caller doesn't see it; returns false when there is none. */
export async function expireInvitation(tx: TenantTransaction, organizationId: string, email: string): Promise<boolean> {
  const freed = await row<{ is_freed: boolean }>(tx.em, 'select gate_expire_invitation(?::uuid, ?) as is_freed', [organizationId, email]);
  return freed?.is_freed === true;
}

/** Replaces token, expiry and inviter of an invitation. */
export function writeRenewed(
  tx: TenantTransaction,
  renewed: Pick<NewInvitation, 'invitedByUserId' | 'madeBy' | 'invitationDays'> & { readonly id: string; readonly tokenHash: Buffer },
): Promise<InvitationRow> {
  return changed(tx, renewed.id, {
    sql: `token_hash = ?, expires_at = now() + make_interval(days => ?), queued_at = clock_timestamp(), resend_count = i.resend_count + 1,
      invited_by_user_id = ?, credential_kind = ?, credential_id = ?::uuid, unvouched_at = null`,
    params: [renewed.tokenHash, renewed.invitationDays, renewed.invitedByUserId, renewed.madeBy?.kind ?? null, renewed.madeBy?.id ?? null],
  });
}

/** Revokes a locked invitation: its token is invalid from then on. */
export function setRevoked(tx: TenantTransaction, invitationId: string): Promise<InvitationRow> {
  return changed(tx, invitationId, { sql: "status = 'revoked'", params: [] });
}

/** Stores an invitation; returns null when one for the same address is pending in the organization. */
export function insertInvitation(
  tx: TenantTransaction,
  {
    id,
    organizationId,
    workspaceId,
    scope,
    email,
    role,
    tokenHash,
    invitedByUserId,
    madeBy,
    invitationDays,
  }: NewInvitation & { id: string; tokenHash: Buffer },
): Promise<InvitationRow | null> {
  return row<InvitationRow>(
    tx.em,
    `insert into invitations as i (id, organization_id, workspace_id, scope, email, role, token_hash, invited_by_user_id, credential_kind, credential_id, expires_at)
     values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?::uuid, now() + make_interval(days => ?))
     on conflict (organization_id, email) where status = 'pending' do nothing returning ${columns}`,
    [
      id,
      organizationId,
      workspaceId,
      scope,
      email,
      role,
      tokenHash,
      invitedByUserId,
      madeBy?.kind ?? null,
      madeBy?.id ?? null,
      invitationDays,
    ],
  );
}

async function changed(tx: TenantTransaction, id: string, set: Predicate): Promise<InvitationRow> {
  const written = await row<InvitationRow>(
    tx.em,
    `update invitations i set ${set.sql}, version = i.version + 1, updated_at = clock_timestamp()
      where i.id = ? and i.status = 'pending' returning ${columns}`,
    [...set.params, id],
  );
  if (!written) throw new Error('a locked invitation was not changed');
  return written;
}
