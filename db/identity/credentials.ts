import { fail } from '../../workflows/contracts/failure.ts';
import type { Caller } from '../caller.ts';
import type { Databases } from '../databases.ts';
import { change, row } from '../sql.ts';
import { openReadOnly, systemActor, tenantOf } from '../transaction.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';
import { endSignInsOf } from './endings.ts';

/** What a signed-in user signs in with, and what a new password is held against. */
export interface OwnCredential {
  readonly passwordHash: string | null;
  readonly email: string;
  readonly fullName: string | null;
  readonly hasFactor: boolean;
}

/** The caller's own credential, read before the transaction: verifying takes tens of milliseconds. */
export async function readOwnCredential(db: Databases, caller: Caller, correlationId: string): Promise<OwnCredential> {
  const { tx } = openReadOnly(db, { tenant: tenantOf(caller), actor: systemActor, correlationId });
  const found = await row<{ password_hash: string | null; email: string; full_name: string | null; has_factor: boolean }>(
    tx.em,
    `select c.password_hash, u.email, u.full_name,
       exists (select from totp_factors f where f.user_id = u.id and f.confirmed_at is not null) as has_factor
     from users u left join user_credentials c on c.user_id = u.id where u.id = ?::uuid and u.deleted_at is null`,
    [caller.userId],
  );

  if (!found) throw fail('session_revoked');
  return { passwordHash: found.password_hash, email: found.email, fullName: found.full_name, hasFactor: found.has_factor };
}

/**
 * Replaces a password by the one that its owner chose, and ends every other session and whatever else was under way. False when the password that
 * was verified is not the stored one any more.
 */
export async function changePassword(
  tx: TenantTransaction,
  { userId, from, to, sessionId }: { readonly userId: string; readonly from: string; readonly to: string; readonly sessionId: string },
): Promise<boolean> {
  const changed = await change(
    tx.em,
    `update user_credentials set password_hash = ?, password_changed_at = now(), updated_at = now() where user_id = ?::uuid and password_hash = ?`,
    [to, userId, from],
  );
  if (changed === 0) return false;

  await endSignInsOf(tx, { userId, exceptSessionId: sessionId, reason: 'password_changed' });
  return true;
}

/**
 * Sets the password of somebody who proved to read the address; what was signed in, half signed in or asked for before ends, a change of
 * address too. The address counts as confirmed; a second factor stays.
 */
export async function resetPassword(
  tx: TenantTransaction,
  { userId, passwordHash }: { readonly userId: string; readonly passwordHash: string },
): Promise<void> {
  await change(
    tx.em,
    `update user_credentials set password_hash = ?, password_changed_at = now(), updated_at = now(),
       email_verified_at = coalesce(email_verified_at, now())
      where user_id = ?::uuid`,
    [passwordHash, userId],
  );
  // The token that was just used stays: shown again it is 410 all the same.
  await endSignInsOf(tx, { userId, reason: 'password_reset' });
}

/** Stores a password hash made with today's parameters in place of an older one that still stands. */
export async function replaceOutdatedHash(
  tx: TenantTransaction,
  { userId, from, to }: { userId: string; from: string; to: string },
): Promise<void> {
  await change(tx.em, 'update user_credentials set password_hash = ? where user_id = ?::uuid and password_hash = ?', [to, userId, from]);
}
