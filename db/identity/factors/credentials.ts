import { change, row } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';

/** The credential of a signed-in user, with what a new password is checked against. */
export interface OwnCredential {
  readonly passwordHash: string | null;
  readonly email: string;
  readonly fullName: string | null;
  readonly hasFactor: boolean;
}

/** Returns the credential of a user, or null when the user no longer exists. */
export async function findCredential(tx: TenantTransaction, userId: string | null): Promise<OwnCredential | null> {
  const found = await row<{ password_hash: string | null; email: string; full_name: string | null; has_factor: boolean }>(
    tx.em,
    `select c.password_hash, u.email, u.full_name,
       exists (select from totp_factors f where f.user_id = u.id and f.confirmed_at is not null) as has_factor
     from users u left join user_credentials c on c.user_id = u.id where u.id = ?::uuid and u.deleted_at is null`,
    [userId],
  );
  return found && { passwordHash: found.password_hash, email: found.email, fullName: found.full_name, hasFactor: found.has_factor };
}

/** Replaces a password; returns false when `from` is no longer the stored hash. */
export async function replacePassword(
  tx: TenantTransaction,
  { userId, from, to }: { readonly userId: string; readonly from: string; readonly to: string },
): Promise<boolean> {
  const changed = await change(
    tx.em,
    `update user_credentials set password_hash = ?, password_changed_at = now(), updated_at = now() where user_id = ?::uuid and password_hash = ?`,
    [to, userId, from],
  );
  return changed > 0;
}

/** Stores a password and marks the address as verified. */
export async function setPassword(tx: TenantTransaction, userId: string, passwordHash: string): Promise<void> {
  await change(
    tx.em,
    `update user_credentials set password_hash = ?, password_changed_at = now(), updated_at = now(),
       email_verified_at = coalesce(email_verified_at, now())
      where user_id = ?::uuid`,
    [passwordHash, userId],
  );
}

/** Replaces an outdated password hash by one made with today's parameters, if it is still the stored one. */
export async function replaceOutdatedHash(
  tx: TenantTransaction,
  { userId, from, to }: { userId: string; from: string; to: string },
): Promise<void> {
  await change(tx.em, 'update user_credentials set password_hash = ? where user_id = ?::uuid and password_hash = ?', [to, userId, from]);
}
