import { change, row } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';

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
  /** Domains that the organization allows; empty allows any. */
  readonly emailDomains: readonly string[];
}

/** Returns a user's own row, locked, or null when it no longer exists. */
export function findProfile(tx: TenantTransaction, userId: string): Promise<Profile | null> {
  return row<Profile>(
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
}

/** Writes name and locale if the row still has this version; returns false when it has another. */
export async function writeNames(
  tx: TenantTransaction,
  profile: Pick<Profile, 'userId' | 'version'>,
  { fullName, locale }: { readonly fullName: string | null; readonly locale: string | null },
): Promise<boolean> {
  const written = await change(
    tx.em,
    `update users set full_name = ?, locale = ?, version = version + 1, updated_at = clock_timestamp() where id = ?::uuid and version = ?`,
    [fullName, locale, profile.userId, profile.version],
  );
  return written > 0;
}

/** Cancels a change of address. */
export async function cancelAddress(tx: TenantTransaction, userId: string): Promise<void> {
  await change(
    tx.em,
    `with asked as (delete from auth_challenges where user_id = ?::uuid and purpose = 'email_confirm' and used_at is null)
     update user_credentials set pending_email = null, updated_at = now() where user_id = ?::uuid`,
    [userId, userId],
  );
}

/** Marks the pending address as verified; returns false when it is no longer the pending one. */
export async function confirmPending(tx: TenantTransaction, userId: string, email: string | null): Promise<boolean> {
  const confirmed = await change(
    tx.em,
    `update user_credentials set email_verified_at = now(), pending_email = null, updated_at = now()
      where user_id = ?::uuid and pending_email = ?::text`,
    [userId, email],
  );
  return confirmed > 0;
}

/** Writes a user's address, and deletes password resets mailed to the old one. A taken address is 409 `already_exists`. */
export async function writeAddress(tx: TenantTransaction, userId: string, email: string | null): Promise<void> {
  await change(
    tx.em,
    `update users set email = ?, version = version + 1, updated_at = clock_timestamp() where id = ?::uuid and deleted_at is null`,
    [email, userId],
  );
  await change(tx.em, "delete from auth_challenges where user_id = ?::uuid and purpose = 'password_reset' and used_at is null", [userId]);
}
