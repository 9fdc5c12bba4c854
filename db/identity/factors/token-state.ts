import { sql } from 'kysely';
import { prepared, type ParametersOf } from '../../prepared.ts';
import { query } from '../../query.ts';
import { row } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';

/** Whether the token of a mail may still be mailed, and when it expires. */
export type TokenState = { readonly state: 'open'; readonly expiresAt: string } | { readonly state: 'expired' | 'void' };

interface MailedToken {
  readonly userId: string;
  readonly tokenHash: Buffer;
}

const challengeOf = prepared(({ userId, tokenHash }: ParametersOf<MailedToken>) =>
  query
    .selectFrom('auth_challenges')
    .select(({ eb, ref }) => [
      'expiresAt',
      eb('usedAt', 'is not', null).$castTo<boolean>().as('isUsed'),
      sql<boolean>`${ref('expiresAt')} <= now()`.as('isOver'),
    ])
    .where('tokenHash', '=', tokenHash)
    .where('userId', '=', userId)
    .where('purpose', '<>', sql.lit('login')),
);

/** Returns the state of a challenge whose token is to be mailed. */
export async function tokenState(tx: TenantTransaction, { userId, tokenHash }: MailedToken): Promise<TokenState> {
  const found = await row(tx.em, challengeOf({ userId, tokenHash }));

  if (!found || found.isUsed) return { state: 'void' };
  return found.isOver ? { state: 'expired' } : { state: 'open', expiresAt: found.expiresAt };
}
