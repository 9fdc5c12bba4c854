import { sql } from 'kysely';
import { anyId } from '../../expressions.ts';
import { query } from '../../query.ts';
import { rows } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import { standingStates } from './stating-items.ts';

/** Returns those of the live items that still count and are stale at the given time: past their validity, or not used for long. */
export function findStaleItems(
  tx: Pick<TenantTransaction, 'em'>,
  ids: readonly string[],
  { now, staleAfterDays }: { readonly now: Date; readonly staleAfterDays: number },
) {
  const isExpired = sql<boolean>`i.valid_until <= ${now}::timestamptz`;
  const lastUsed = sql<string>`coalesce(i.last_used_at, i.created_at)`;
  const isUnused = sql<boolean>`${lastUsed} < ${now}::timestamptz - make_interval(days => ${staleAfterDays})`;
  return rows(
    tx.em,
    query
      .selectFrom('knowledge_live_items as i')
      .where('i.id', '=', anyId(ids))
      .where('i.curationState', 'in', standingStates)
      .where(({ or }) => or([isExpired, isUnused]))
      .select([
        'i.id',
        sql<'expired' | 'unused'>`case when ${isExpired} then 'expired' else 'unused' end`.as('reason'),
        'i.contentHash as hash',
        sql<string>`case when ${isExpired} then i.valid_until else ${lastUsed} end`.as('since'),
      ])
      .orderBy('i.id'),
  );
}
