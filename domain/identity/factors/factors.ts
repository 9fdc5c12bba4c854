import { fail } from '../../../workflows/contracts/failure.ts';
import { iso } from '../../../db/sql.ts';
import { decrypt, encrypt, type Binding } from '../../../db/envelope.ts';
import type { TenantTransaction } from '../../../db/tenant-transaction.ts';
import { endSignInsOf } from '../../../db/identity/sessions/endings.ts';
import type { KeyRing } from '../../../db/key-ring.ts';
import {
  deleteFactor,
  findFactor,
  lockFactor,
  writeConfirmed,
  writeFactor,
  type FactorScope,
  type StoredFactor,
} from '../../../db/identity/factors/factors.ts';
import { stepOfTotp } from '../../../db/identity/factors/totp.ts';
import { notify } from '../people/notices.ts';
import { inventRecoveryCodes, replaceRecoveryCodes, type NewRecoveryCodes } from './recovery-codes.ts';

type Keks = Pick<KeyRing, 'keks'>;

/** Stores an unconfirmed factor in place of an older unconfirmed one. Throws 409 `factor_active` when there is a confirmed one. */
export async function storeFactor(
  tx: TenantTransaction,
  keys: Keks,
  { secret, ...place }: FactorScope & { readonly secret: string },
): Promise<string> {
  const encrypted = await encrypt(tx.em, keys, bindingOf(place), Buffer.from(secret));
  const expiresAt = await writeFactor(tx, { ...place, encrypted });

  if (expiresAt === null) throw factorActive();
  return expiresAt;
}

/** The factor of a user, confirmed or not; null without one. */
export async function readFactor(tx: TenantTransaction, keys: Keks, place: FactorScope): Promise<StoredFactor | null> {
  const found = await findFactor(tx, place.userId);
  return found && { ...found, secret: await decryptFactor(tx, keys, { ...place, encrypted: found.encrypted }) };
}

/** Decrypts the secret of a factor that has been read. */
export async function decryptFactor(
  tx: TenantTransaction,
  keys: Keks,
  { encrypted, ...place }: FactorScope & { readonly encrypted: Buffer },
): Promise<string> {
  return (await decrypt(tx.em, keys, bindingOf(place), encrypted)).toString();
}

/** The owner of a factor, and the session in which the owner changes it. */
interface Account extends FactorScope {
  readonly workspaceId: string | null;
  readonly sessionId: string;
}

/**
 * Confirms the factor if its code is right, spends the code, returns recovery codes, records on the session that its user has just been verified by the factor,
 * and ends all other sessions and requests of the user, which were made without the factor. Notifies the user by mail. Throws 409 `no_factor`, and
 * `factor_active` when it was replaced or confirmed meanwhile; 410 for a factor that is too old; 401 for a wrong code, and when the session has ended.
 */
export async function confirmFactor(
  tx: TenantTransaction,
  keys: KeyRing,
  { account, code, now }: { readonly account: Account; readonly code: string; readonly now: Date },
): Promise<NewRecoveryCodes> {
  const { userId, sessionId } = account;
  const factor = await readFactor(tx, keys, account);

  if (!factor) throw noFactor();
  if (factor.isConfirmed) throw factorActive();
  if (factor.isOver) throw fail('gone', { detail: 'This secret has expired. Start the enrolment again.' });
  const step = stepOfTotp(factor.secret, code, now);
  if (step === null) throw fail('mfa_code_invalid');

  const { codes, hashes: codeHashes } = inventRecoveryCodes(keys, userId);
  const done = await writeConfirmed(tx, { userId, sessionId, encrypted: factor.encrypted, step, codeHashes });
  if (!done?.isConfirmed) throw factorActive();
  if (!done.isLive) throw fail('session_revoked');
  await endSignInsOf(tx, { userId, exceptSessionId: sessionId, reason: 'factor_added' });
  await notify(tx, keys, { ...account, template: 'factor_added' });
  return { codes, createdAt: iso(done.at) };
}

/**
 * Removes the caller's own factor; a confirmed one as `removeFactor` does, with a notification by mail. Throws 409 while the organization demands a factor.
 * Returns whether it was confirmed.
 */
export async function removeOwnFactor(tx: TenantTransaction, keys: KeyRing, account: Account): Promise<boolean> {
  const { userId, sessionId } = account;
  const { isConfirmed, isRequired } = await lockFactor(tx, account);

  if (isConfirmed && isRequired) {
    throw fail('state_conflict', { reason: 'factor_required', detail: 'The organization requires a second factor.' });
  }
  if (isConfirmed) {
    await removeFactor(tx, { userId, exceptSessionId: sessionId });
    await notify(tx, keys, { ...account, template: 'factor_removed' });
  } else {
    await deleteFactor(tx, userId);
  }
  return isConfirmed;
}

/** Replaces the recovery codes of the caller's own confirmed factor, which makes the old ones invalid; notifies the user by mail. Throws 409 `no_factor`. */
export async function renewRecoveryCodes(tx: TenantTransaction, keys: KeyRing, account: Account): Promise<NewRecoveryCodes> {
  const { isConfirmed } = await lockFactor(tx, account);

  if (!isConfirmed) throw noFactor();
  const made = await replaceRecoveryCodes(tx, keys, account);
  await notify(tx, keys, { ...account, template: 'recovery_codes_replaced' });
  return made;
}

/** Removes a confirmed factor, and ends its user's sessions and requests under way, except for one session. Returns whether there was a factor. */
export async function removeFactor(
  tx: TenantTransaction,
  { userId, exceptSessionId }: { readonly userId: string; readonly exceptSessionId: string | null },
): Promise<boolean> {
  if ((await deleteFactor(tx, userId)) === 0) return false;
  await endSignInsOf(tx, { userId, exceptSessionId, reason: 'factor_removed' });
  return true;
}

/** 409: there is no confirmed factor. */
function noFactor() {
  return fail('state_conflict', { reason: 'no_factor', detail: 'There is no second factor.' });
}

/** 409: a factor is confirmed already. */
function factorActive() {
  return fail('state_conflict', { reason: 'factor_active', detail: 'A second factor is already confirmed.' });
}

function bindingOf({ userId, organizationId }: FactorScope): Binding {
  return { organizationId, aad: ['totp_factors', userId] };
}
