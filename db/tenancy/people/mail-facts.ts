import type { TokenState } from '../../identity/factors/token-state.ts';
import { row } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';

/** What a mail to a user says about them. */
export interface Reader {
  readonly email: string;
  readonly fullName: string | null;
  readonly organizationName: string | null;
}

/** Returns a user who may get mails: active, and of an organization that has not been purged. */
export async function readReader(tx: TenantTransaction, userId: string): Promise<Reader | null> {
  const found = await row<{ email: string; full_name: string | null; organization_name: string | null }>(
    tx.em,
    `select u.email, u.full_name, o.name as organization_name
    from users u left join organizations o on o.id = u.organization_id
    where u.id = ? and u.is_active and u.deleted_at is null and o.purged_at is null`,
    [userId],
  );
  return found && { email: found.email, fullName: found.full_name, organizationName: found.organization_name };
}

/** What the mail of an invitation says. */
export interface InvitationFacts {
  readonly email: string;
  readonly role: string;
  readonly organizationName: string;
  readonly workspaceName: string | null;
  readonly inviterName: string | null;
}

export interface InvitationMail {
  readonly invitationId: string;
  /** The token of this very mail: a newer mail replaces it in the row, and makes this one invalid. */
  readonly tokenHash: Buffer;
}

/** Returns an invitation to be mailed, in the tenant of its organization. */
export async function readInvitation(
  tx: TenantTransaction,
  { invitationId, tokenHash }: InvitationMail,
): Promise<{ readonly token: TokenState; readonly facts: InvitationFacts | null }> {
  const found = await row<{
    email: string;
    role: string;
    organization_name: string;
    workspace_name: string | null;
    inviter_name: string | null;
    expires_at: string;
    is_over: boolean;
  }>(
    tx.em,
    `select i.email, i.role, o.name as organization_name, w.name as workspace_name, u.full_name as inviter_name,
      i.expires_at, i.expires_at <= now() as is_over
    from invitations i
    join organizations o on o.id = i.organization_id
    left join workspaces w on w.id = i.workspace_id
    left join users u on u.id = i.invited_by_user_id
    where i.id = ? and i.token_hash = ? and i.status = 'pending' and o.purged_at is null`,
    [invitationId, tokenHash],
  );
  if (!found) return { token: { state: 'void' }, facts: null };
  if (found.is_over) return { token: { state: 'expired' }, facts: null };

  const { email, role, organization_name: organizationName, workspace_name: workspaceName, inviter_name: inviterName } = found;
  return { token: { state: 'open', expiresAt: found.expires_at }, facts: { email, role, organizationName, workspaceName, inviterName } };
}
