import { fail } from '../../../workflows/contracts/failure.ts';
import type { Databases } from '../../../db/databases.ts';
import type { TenantTransaction } from '../../../db/tenant-transaction.ts';
import { findMailToken, type MailTokenAnswer } from '../../../db/identity/lookup/credential-lookup.ts';
import { isOpaqueToken, tokenHash } from '../../../db/identity/factors/opaque-tokens.ts';
import { useMailToken, type MailPurpose, type UsedToken } from '../../../db/identity/factors/mail-tokens.ts';
import { recordOpened } from '../../../db/mail.ts';
import { tokenState, type TokenState } from '../../../db/identity/factors/token-state.ts';
import { lockResets, writeReset, type ResetRequest } from '../../../db/identity/factors/reset-request.ts';

/** An open token with its user; `hash` is its stored form. */
export interface ShownToken extends MailTokenAnswer {
  readonly hash: Buffer;
}

/**
 * Returns the user of a token. Throws the same 410 for a token that is malformed, unknown, used, expired, replaced, of another purpose, or of a user who may
 * not sign in.
 */
export async function readMailToken(db: Databases, token: string, purpose: MailPurpose): Promise<ShownToken> {
  if (!isOpaqueToken('mail', token)) throw lostToken();
  const hash = tokenHash(token);
  const found = await findMailToken(db, hash, purpose);

  if (!found?.isOpen || !found.person.isActive) throw lostToken();
  return { ...found, hash };
}

/**
 * Uses up a token: of any number of concurrent requests one gets its payload, the others get 410. Also throws 410 for a token requested by a session that has
 * ended since.
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
 * Creates the challenge that a reset token answers, once per request. Only the newest request counts: it invalidates older ones of the user. A request that
 * arrives after a newer one creates none, nor does one of a user who has been deactivated meanwhile.
 */
export async function openReset(tx: TenantTransaction, { outboxId, userId, organizationId, tokenHash }: ResetRequest): Promise<TokenState> {
  // Serialises concurrent requests, so that the older one sees the newer or is invalidated by it.
  await lockResets(tx, userId);
  if (await recordOpened(tx, outboxId)) await writeReset(tx, { outboxId, userId, organizationId, tokenHash });
  return tokenState(tx, { userId, tokenHash });
}
