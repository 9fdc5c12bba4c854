import { fail } from '../../workflows/contracts/failure.ts';
import { addMail } from '../mail.ts';
import { change, row } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';
import type { KeyRing } from './key-ring.ts';
import { openConfirmation } from './mail-tokens.ts';

/** A user's own row, locked for a change. */
export interface Profile {
  readonly userId: string;
  readonly version: number;
  readonly email: string;
  readonly fullName: string | null;
  readonly locale: string | null;
  readonly organizationId: string | null;
  readonly workspaceId: string | null;
  readonly isEmailVerified: boolean;
  readonly pendingEmail: string | null;
  /** Domains that the organization admits; empty admits any. */
  readonly emailDomains: readonly string[];
}

/** Locks one's own row. */
export async function lockProfile(tx: TenantTransaction, userId: string): Promise<Profile> {
  const found = await row<Profile>(
    tx.em,
    `select u.id as "userId", u.version, u.email, u.full_name as "fullName", u.locale, u.organization_id as "organizationId", u.workspace_id as "workspaceId",
       c.email_verified_at is not null as "isEmailVerified", c.pending_email as "pendingEmail",
       to_jsonb(coalesce(st.allowed_email_domains, '{}')) as "emailDomains"
     from users u
     left join user_credentials c on c.user_id = u.id
     left join organization_settings st on st.organization_id = u.organization_id
     where u.id = ?::uuid and u.deleted_at is null for no key update of u`,
    [userId],
  );

  if (!found) throw fail('session_revoked');
  return found;
}

/** Writes name and locale of a locked row; its version counts on also when only the wanted address has changed. 412 when another was faster. */
export async function writeProfile(
  tx: TenantTransaction,
  profile: Profile,
  { fullName, locale }: { readonly fullName: string | null; readonly locale: string | null },
): Promise<void> {
  const written = await change(
    tx.em,
    `update users set full_name = ?, locale = ?, version = version + 1, updated_at = clock_timestamp() where id = ?::uuid and version = ?`,
    [fullName, locale, profile.userId, profile.version],
  );
  if (written === 0) throw fail('precondition_failed');
}

/**
 * Asks the reader of an address to confirm that it is the user's: a token to the new address, a notice to the old one. Whether the address is
 * another's is not looked at, so that nothing is told about it; older requests die, and this one with the session that asks.
 */
export async function requestAddress(
  tx: TenantTransaction,
  keys: Pick<KeyRing, 'mailKeys'>,
  { profile, sessionId, email }: { readonly profile: Profile; readonly sessionId: string; readonly email: string },
): Promise<void> {
  const { userId, organizationId, workspaceId } = profile;
  const home = { organizationId, workspaceId };
  const { outboxId, tokenHash } = await addMail(tx, keys, { mail: { template: 'email_confirm', userId, to: email }, home });

  await openConfirmation(tx, { outboxId, tokenHash, userId, organizationId, sessionId, email });
  if (email !== profile.email) {
    await addMail(tx, keys, { mail: { template: 'email_change_notice', userId, to: profile.email }, home });
  }
}

/** Gives a change of address up. */
export async function cancelAddress(tx: TenantTransaction, userId: string): Promise<void> {
  await change(
    tx.em,
    `with asked as (delete from auth_challenges where user_id = ?::uuid and purpose = 'email_confirm' and used_at is null)
     update user_credentials set pending_email = null, updated_at = now() where user_id = ?::uuid`,
    [userId, userId],
  );
}

/**
 * Makes a confirmed address the user's own, and kills what was mailed to the old one to reset the password. 409 `already_exists` when it is
 * another's by now; 410 when it is not the wanted one any more.
 */
export async function confirmAddress(
  tx: TenantTransaction,
  { userId, email }: { readonly userId: string; readonly email: string | null },
): Promise<void> {
  const confirmed = await change(
    tx.em,
    `update user_credentials set email_verified_at = now(), pending_email = null, updated_at = now()
      where user_id = ?::uuid and pending_email = ?::text`,
    [userId, email],
  );
  if (confirmed === 0) throw fail('gone', { detail: 'this address is not asked for any more' });

  await change(
    tx.em,
    `update users set email = ?, version = version + 1, updated_at = clock_timestamp() where id = ?::uuid and deleted_at is null`,
    [email, userId],
  );
  await change(tx.em, "delete from auth_challenges where user_id = ?::uuid and purpose = 'password_reset' and used_at is null", [userId]);
}
