import { fail } from '../../../workflows/contracts/failure.ts';
import type { Databases } from '../../../db/databases.ts';
import type { TenantTransaction } from '../../../db/tenant-transaction.ts';
import { findMailToken, type MailTokenAnswer } from '../../../db/identity/lookup/credential-lookup.ts';
import { isOpaqueToken, tokenHash } from '../../../db/identity/factors/opaque-tokens.ts';
import { useMailToken, type MailPurpose, type UsedToken } from '../../../db/identity/factors/mail-tokens.ts';
import { noteOpened } from '../../../db/mail.ts';
import { tokenState, type TokenState } from '../../../db/identity/factors/token-state.ts';
import { lockResets, writeReset, type ResetRequest } from '../../../db/identity/factors/reset-request.ts';

/** Whoever shows a token that is open; `hash` is what is stored of it. */
export interface ShownToken extends MailTokenAnswer {
  readonly hash: Buffer;
}

/**
 * Whose token it is. Throws one 410 for one that is garbled, unknown, used, expired, replaced, of another purpose, or of a user who may not sign
 * in.
 */
export async function readMailToken(db: Databases, token: string, purpose: MailPurpose): Promise<ShownToken> {
  if (!isOpaqueToken('mail', token)) throw lostToken();
  const hash = tokenHash(token);
  const found = await findMailToken(db, hash, purpose);

  if (!found?.isOpen || !found.person.isActive) throw lostToken();
  return { ...found, hash };
}

/**
 * Uses a token up: of any number at once one gets its payload, the others 410, and so does whoever shows one that a session has asked for which has
 * been ended since.
 */
export async function takeMailToken(tx: TenantTransaction, shown: UsedToken): Promise<{ readonly email: string | null }> {
  const taken = await useMailToken(tx, shown);

  if (!taken) throw lostToken();
  return taken;
}

function lostToken() {
  return fail('gone', { detail: 'This link has already been used, has been replaced, or has expired.' });
}

/**
 * Makes the challenge that a reset token answers, once a request. Only the newest request counts: older ones of the user die, and one
 * that arrives after a newer makes none, nor one of somebody who has been deactivated meanwhile.
 */
export async function openReset(tx: TenantTransaction, { outboxId, userId, organizationId, tokenHash }: ResetRequest): Promise<TokenState> {
  // Two requests at once take turns, so that the older sees the newer or dies by it.
  await lockResets(tx, userId);
  if (await noteOpened(tx, outboxId)) await writeReset(tx, { outboxId, userId, organizationId, tokenHash });
  return tokenState(tx, { userId, tokenHash });
}
