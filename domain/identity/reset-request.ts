import { noteOpened } from '../../db/mail.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';
import { tokenState, type TokenState } from '../../db/identity/token-state.ts';
import { lockResets, writeReset, type ResetRequest } from '../../db/identity/reset-request.ts';

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
