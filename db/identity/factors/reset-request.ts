import { sql } from 'kysely';
import { query } from '../../query.ts';
import { change, row } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import { challengeColumns } from './mail-tokens.ts';

/** Lifetime in minutes of the token that resets a forgotten password. */
const resetMinutes = 30;

export interface ResetRequest {
  /** Id of the mail's outbox row, which is also the request's: a second try finds the row that the first has made. Ids grow with time. */
  readonly outboxId: string;
  readonly userId: string;
  readonly organizationId: string | null;
  readonly tokenHash: Buffer;
}

/** Locks the reset requests of a user until the end of the transaction. */
export async function lockResets(tx: TenantTransaction, userId: string): Promise<void> {
  await row(
    tx.em,
    query.selectNoFrom(sql<unknown>`pg_advisory_xact_lock(hashtextextended('password_reset:' || ${userId}, 0))`.as('locked')),
  );
}

/** Deletes the older requests of a user and stores this one, unless there is a newer one or the user may not sign in. */
export async function writeReset(tx: TenantTransaction, { outboxId, userId, organizationId, tokenHash }: ResetRequest): Promise<void> {
  await change(
    tx.em,
    query.deleteFrom('auth_challenges').where('userId', '=', userId).where('purpose', '=', 'password_reset').where('id', '<', outboxId),
  );
  const newer = query
    .selectFrom('auth_challenges')
    .select('id')
    .where('userId', '=', userId)
    .where('purpose', '=', 'password_reset')
    .where('id', '>', outboxId);
  const standing = query
    .selectFrom('users')
    .select('id')
    .where('id', '=', userId)
    .where('isActive', '=', true)
    .where('deletedAt', 'is', null)
    .forShare();
  await change(
    tx.em,
    query
      .insertInto('auth_challenges')
      .columns(challengeColumns)
      .expression(
        query
          .selectFrom(standing.as('standing'))
          .select([sql`${outboxId}::uuid`.as('id'), sql`'password_reset'`.as('purpose'), 'standing.id as userId'])
          .select([sql`${organizationId}::uuid`.as('organizationId'), sql`${tokenHash}::bytea`.as('tokenHash'), sql`0`.as('attempts')])
          .select([sql`'{}'::jsonb`.as('payload'), sql`now() + make_interval(mins => ${resetMinutes})`.as('expiresAt')])
          .where(({ exists, not }) => not(exists(newer))),
      ),
  );
}
