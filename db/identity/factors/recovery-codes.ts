import { sql } from 'kysely';
import { prepared, type ParametersOf } from '../../prepared.ts';
import { query } from '../../query.ts';
import { iso, row } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import { unnested } from './factors.ts';

/** Replaces the recovery codes of a user; returns the time of the new ones. */
export async function replaceCodes(
  tx: TenantTransaction,
  {
    userId,
    organizationId,
    hashes,
  }: { readonly userId: string; readonly organizationId: string | null; readonly hashes: readonly Buffer[] },
): Promise<string> {
  const made = await row(
    tx.em,
    query
      .with('older', (of) => of.deleteFrom('recovery_codes').where('userId', '=', userId))
      .insertInto('recovery_codes')
      .columns(['userId', 'codeHash', 'organizationId', 'createdAt'])
      .expression(({ selectFrom }) =>
        selectFrom(unnested(hashes)).select([
          sql`${userId}::uuid`.as('userId'),
          'made.hash',
          sql`${organizationId}::uuid`.as('organizationId'),
          sql`now()`.as('createdAt'),
        ]),
      )
      .returning('createdAt'),
  );

  if (!made) throw new Error('no recovery codes were made');
  return iso(made.createdAt);
}

const using = prepared(({ userId, hashes }: ParametersOf<{ readonly userId: string; readonly hashes: readonly Buffer[] }>) =>
  query
    .updateTable('recovery_codes')
    .set({ usedAt: sql<string>`now()` })
    .where('userId', '=', userId)
    .where(({ ref }) => sql<boolean>`${ref('codeHash')} = any(${hashes}::bytea[])`)
    .where('usedAt', 'is', null)
    .returning(
      sql<number>`(select count(*)::int from recovery_codes o
        where o.user_id = recovery_codes.user_id and o.used_at is null and o.code_hash <> recovery_codes.code_hash)`.as('left'),
    ),
);

/** Uses up the code that matches one of the digests. Returns how many are left, or null when none matches. */
export async function useCode(tx: TenantTransaction, userId: string, hashes: readonly Buffer[]) {
  return row(tx.em, using({ userId, hashes }));
}
