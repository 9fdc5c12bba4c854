import { row } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';

/** Whether the token of a mail may still be mailed, and when it expires. */
export type TokenState = { readonly state: 'open'; readonly expiresAt: string } | { readonly state: 'expired' | 'void' };

/** Returns the state of a challenge whose token is to be mailed. */
export async function tokenState(
  tx: TenantTransaction,
  { userId, tokenHash }: { readonly userId: string; readonly tokenHash: Buffer },
): Promise<TokenState> {
  const found = await row<{ expires_at: string; is_used: boolean; is_over: boolean }>(
    tx.em,
    `select expires_at, used_at is not null as is_used, expires_at <= now() as is_over
    from auth_challenges where token_hash = ? and user_id = ? and purpose <> 'login'`,
    [tokenHash, userId],
  );

  if (!found || found.is_used) return { state: 'void' };
  return found.is_over ? { state: 'expired' } : { state: 'open', expiresAt: found.expires_at };
}
