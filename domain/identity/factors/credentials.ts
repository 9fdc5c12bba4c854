import { fail } from '../../../workflows/contracts/failure.ts';
import type { Caller } from '../../../db/caller.ts';
import type { Databases } from '../../../db/databases.ts';
import { openReadOnly, systemActor, tenantOf } from '../../../db/transaction.ts';
import type { TenantTransaction } from '../../../db/tenant-transaction.ts';
import { endSignInsOf } from '../../../db/identity/sessions/endings.ts';
import type { KeyRing } from '../../../db/key-ring.ts';
import { takeMailToken } from './mail-tokens.ts';
import { notify } from '../people/notices.ts';
import { findCredential, replacePassword, setPassword, type OwnCredential } from '../../../db/identity/factors/credentials.ts';

/** Reads the caller's own credential before the transaction, since verifying it takes tens of milliseconds. */
export async function readOwnCredential(db: Databases, caller: Caller, correlationId: string): Promise<OwnCredential> {
  const { tx } = openReadOnly(db, { tenant: tenantOf(caller), actor: systemActor, correlationId });
  const found = await findCredential(tx, caller.userId);

  if (!found) throw fail('session_revoked');
  return found;
}

/** The user whose credential is written, and its row scope. */
interface Account {
  readonly userId: string;
  readonly organizationId: string | null;
  readonly workspaceId: string | null;
}

/**
 * Replaces a password by the one that its owner chose, ends every other session and any sign-in or request under way, and notifies the user by mail. Throws 401
 * `login_failed` when the password that was verified is no longer the stored one.
 */
export async function changePassword(
  tx: TenantTransaction,
  keys: Pick<KeyRing, 'mailKeys'>,
  { account, from, to }: { readonly account: Account & { readonly sessionId: string }; readonly from: string; readonly to: string },
): Promise<void> {
  const { userId, sessionId } = account;
  if (!(await replacePassword(tx, { userId, from, to }))) throw fail('login_failed');

  await endSignInsOf(tx, { userId, exceptSessionId: sessionId, reason: 'password_changed' });
  await notify(tx, keys, { ...account, template: 'password_changed' });
}

/**
 * Uses up the token of a mail and sets the password of a user who proved by it to read the address. Ends all sessions, half-finished sign-ins and open
 * requests, a change of address too. The address counts as confirmed; a second factor stays. Notifies the user by mail. Throws 410 for a token that is not
 * open.
 */
export async function resetPassword(
  tx: TenantTransaction,
  keys: Pick<KeyRing, 'mailKeys'>,
  { account, tokenHash: hash, passwordHash }: { readonly account: Account; readonly tokenHash: Buffer; readonly passwordHash: string },
): Promise<void> {
  const { userId } = account;
  await takeMailToken(tx, { hash, purpose: 'password_reset', userId });
  await setPassword(tx, userId, passwordHash);
  // The token just used stays: used again, it yields 410 anyway.
  await endSignInsOf(tx, { userId, reason: 'password_reset' });
  await notify(tx, keys, { ...account, template: 'password_changed' });
}
