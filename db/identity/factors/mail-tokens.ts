import { sql } from 'kysely';
import { now } from '../../expressions.ts';
import { Condition } from '../../condition.ts';
import { query } from '../../query.ts';
import { change, row } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import { isAskerStanding } from '../sessions/session-right.sql.ts';

/** The one purpose for which the token of a mail is valid. */
export type MailPurpose = 'password_reset' | 'email_confirm';

const confirmHours = 24;

/** The columns of a challenge that a mail asks to answer. */
export const challengeColumns = ['id', 'purpose', 'userId', 'organizationId', 'tokenHash', 'attempts', 'payload', 'expiresAt'] as const;

/** A token to be used up, by its digest. */
export interface UsedToken {
  readonly hash: Buffer;
  readonly purpose: MailPurpose;
  readonly userId: string;
}

/** Uses up an open token and returns its payload; null when it is no longer open. */
export async function useMailToken(tx: TenantTransaction, { hash, purpose, userId }: UsedToken) {
  return row(
    tx.em,
    query
      // Taken behind the credential's lock, in the same order as every operation that ends sign-ins.
      .with('held', (of) => of.selectFrom('user_credentials as c').select('c.userId').where('c.userId', '=', userId).forNoKeyUpdate())
      .updateTable('auth_challenges')
      .from('held')
      .set({ usedAt: now })
      .where('auth_challenges.tokenHash', '=', hash)
      .where('auth_challenges.purpose', '=', purpose)
      .whereRef('auth_challenges.userId', '=', 'held.userId')
      .where('auth_challenges.usedAt', 'is', null)
      .where('auth_challenges.expiresAt', '>', now)
      .where(new Condition(isAskerStanding('auth_challenges.session_id')))
      .returning(({ ref }) => sql<string | null>`${ref('auth_challenges.payload')} ->> 'email'`.as('email')),
  );
}

/** Creates the challenge that proves an address, replacing older ones of the user, and stores the address as pending. Both end with the session that asks. */
export async function openConfirmation(
  tx: TenantTransaction,
  confirmation: {
    readonly outboxId: string;
    readonly tokenHash: Buffer;
    readonly userId: string;
    readonly organizationId: string | null;
    readonly sessionId: string;
    readonly email: string;
  },
): Promise<void> {
  const { outboxId, tokenHash, userId, organizationId, sessionId, email } = confirmation;

  await change(
    tx.em,
    query
      .with('wanted', (of) =>
        of
          .insertInto('user_credentials')
          .values({ userId, organizationId, pendingEmail: email })
          .onConflict((conflict) =>
            conflict.column('userId').doUpdateSet(({ ref }) => ({ pendingEmail: ref('excluded.pendingEmail'), updatedAt: now })),
          )
          .returning(['userId', 'organizationId', 'pendingEmail']),
      )
      .with('older', (of) =>
        of
          .deleteFrom('auth_challenges as c')
          .using('wanted')
          .whereRef('c.userId', '=', 'wanted.userId')
          .where('c.purpose', '=', 'email_confirm')
          .where('c.usedAt', 'is', null),
      )
      .insertInto('auth_challenges')
      .columns([...challengeColumns, 'sessionId', 'createdAt'])
      .expression(({ selectFrom }) =>
        selectFrom('wanted')
          .select([sql`${outboxId}::uuid`.as('id'), sql`'email_confirm'`.as('purpose'), 'wanted.userId', 'wanted.organizationId'])
          .select([sql`${tokenHash}::bytea`.as('tokenHash'), sql`0`.as('attempts')])
          .select(({ ref }) => sql`jsonb_build_object('email', ${ref('wanted.pendingEmail')})`.as('payload'))
          .select(sql`now() + make_interval(hours => ${confirmHours})`.as('expiresAt'))
          .select([sql`${sessionId}::uuid`.as('sessionId'), now.as('createdAt')]),
      ),
  );
}
