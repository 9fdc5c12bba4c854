import { row } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';
import type { Session } from './session.entity.ts';

/**
 * Notes on a live session that its user has just verified themselves, and by what: `none` is the password. False when the session has ended
 * meanwhile.
 */
export async function markVerified(
  tx: TenantTransaction,
  { sessionId, mfaLevel }: { readonly sessionId: string; readonly mfaLevel: Session['mfaLevel'] },
): Promise<boolean> {
  const marked = await row(
    tx.em,
    'update sessions set verified_at = now(), mfa_level = ? where id = ?::uuid and revoked_at is null returning id',
    [mfaLevel, sessionId],
  );
  return marked !== null;
}
