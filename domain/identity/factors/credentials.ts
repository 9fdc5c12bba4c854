import { fail } from '../../../workflows/contracts/failure.ts';
import type { Caller } from '../../../db/caller.ts';
import type { Databases } from '../../../db/databases.ts';
import { openReadOnly, systemActor, tenantOf } from '../../../db/transaction.ts';
import type { TenantTransaction } from '../../../db/tenant-transaction.ts';
import { endSignInsOf } from '../../../db/identity/sessions/endings.ts';
import type { KeyRing } from '../../../db/identity/keys/key-ring.ts';
import { takeMailToken } from './mail-tokens.ts';
import { notify } from '../people/notices.ts';
import { findCredential, replacePassword, setPassword, type OwnCredential } from '../../../db/identity/factors/credentials.ts';

/** The caller's own credential, read before the transaction: verifying takes tens of milliseconds. */
export async function readOwnCredential(db: Databases, caller: Caller, correlationId: string): Promise<OwnCredential> {
  const { tx } = openReadOnly(db, { tenant: tenantOf(caller), actor: systemActor, correlationId });
  const found = await findCredential(tx, caller.userId);

  if (!found) throw fail('session_revoked');
  return found;
}

/** Whose credential is written, and where the row lies. */
interface Account {
  readonly userId: string;
  readonly organizationId: string | null;
  readonly workspaceId: string | null;
}

/**
 * Replaces a password by the one that its owner chose, and ends every other session and whatever else was under way; a mail tells of it. 401
 * `login_failed` when the password that was verified is not the stored one any more.
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
 * Uses the token of a mail up and sets the password of somebody who proved by it to read the address; what was signed in, half signed in or asked for
 * before ends, a change of address too. The address counts as confirmed; a second factor stays. A mail tells of it. 410 for a token that is not open.
 */
export async function resetPassword(
  tx: TenantTransaction,
  keys: Pick<KeyRing, 'mailKeys'>,
  { account, tokenHash: hash, passwordHash }: { readonly account: Account; readonly tokenHash: Buffer; readonly passwordHash: string },
): Promise<void> {
  const { userId } = account;
  await takeMailToken(tx, { hash, purpose: 'password_reset', userId });
  await setPassword(tx, userId, passwordHash);
  // The token that was just used stays: shown again it is 410 all the same.
  await endSignInsOf(tx, { userId, reason: 'password_reset' });
  await notify(tx, keys, { ...account, template: 'password_changed' });
}
