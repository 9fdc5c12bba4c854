import {
  closeTransaction,
  issueCode,
  lockTransaction,
  openTransaction,
  type AuthorizationRequest,
  type StoredTransaction,
} from '../../db/oauth/transactions.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';
import { fail } from '../../workflows/contracts/failure.ts';

/** Records a client's request until a user decides on it; the id is in no row. */
export function recordRequest(
  tx: TenantTransaction,
  asked: { readonly clientId: string; readonly request: AuthorizationRequest },
): Promise<{ transactionId: string; expiresAt: Date | string }> {
  return openTransaction(tx, asked);
}

/** Loads and locks an undecided transaction. Throws 404, 409 `already_decided`, and 410 for one that has expired. */
export async function lockUndecided(tx: TenantTransaction, transactionId: string): Promise<StoredTransaction> {
  const transaction = await lockTransaction(tx, transactionId);

  if (!transaction) throw fail('not_found');
  if (transaction.isDecided) throw fail('state_conflict', { reason: 'already_decided' });
  if (transaction.isOver) throw fail('gone', { detail: 'The request has expired. Start again in the application.' });
  return transaction;
}

/**
 * Records a user's decision on a transaction, which the caller has locked: returns the code of the grant, or null for a denial. Throws 401 when the deciding
 * session has ended meanwhile.
 */
export async function settleTransaction(
  tx: TenantTransaction,
  transactionId: string,
  {
    who,
    sessionId,
    granted,
  }: {
    readonly who: { readonly userId: string; readonly organizationId: string | null };
    readonly sessionId: string | null;
    readonly granted: (Omit<AuthorizationRequest, 'state'> & { readonly clientId: string }) | null;
  },
): Promise<string | null> {
  await closeTransaction(tx, transactionId, who);
  if (granted === null) return null;
  const code = await issueCode(tx, { ...granted, ...who, sessionId });

  if (code === null) throw fail('session_revoked');
  return code;
}
