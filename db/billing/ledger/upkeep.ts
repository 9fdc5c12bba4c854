import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import { clockTime } from '../../expressions.ts';
import { query } from '../../query.ts';
import { row, rows } from '../../sql.ts';

/** Keys of calls that have left and are not settled yet: the successor of a lost worker settles them, and until then they keep their holds. */
const inFlight = sql<{ key: string }>`(
  select 'run:' || s.run_id || ':' || s.step || ':' || (s.in_flight ->> 'attempt') || ':0' as key from run_steps s where s.in_flight is not null
  union all select v.value #>> '{asked,callKey}' from evaluation_runs e
    join evaluation_results r on r.evaluation_run_id = e.id and r.status = 'scoring' cross join jsonb_each(r.votes) v
   where e.finished_at is null and jsonb_exists(v.value, 'asked'))`;

/**
 * Expires up to `limit` holds with a passed lease, except those of calls recorded as in flight; returns their number. Locks windows before holds, in the
 * order of every reservation.
 */
export async function expireHolds(em: SqlEntityManager, limit: number): Promise<number> {
  const expired = await row(
    em,
    query
      .with(
        (cte) => cte('due').materialized(),
        (of) =>
          of
            .selectFrom('budget_holds as h')
            .where('h.state', '=', sql.lit('held'))
            .where('h.leaseUntil', '<', clockTime)
            .where(({ exists, not, selectFrom }) =>
              not(exists(selectFrom(inFlight.as('f')).whereRef('f.key', '=', 'h.callKey').select('f.key'))),
            )
            .select(['h.callKey', 'h.windowId'])
            .orderBy('h.leaseUntil')
            .limit(limit),
      )
      .with(
        (cte) => cte('w').materialized(),
        (of) =>
          of
            .selectFrom('budget_windows as b')
            .where(sql<boolean>`b.id = any (array(select window_id from due))`)
            .select('b.id')
            .orderBy('b.period')
            .orderBy('b.id')
            .forUpdate(),
      )
      .with('h', (of) =>
        of
          .updateTable('budget_holds')
          .set({ state: 'expired', closedAt: clockTime })
          .where(sql<boolean>`call_key = any (array(select call_key from due))`)
          .where(sql<boolean>`window_id = any (array(select id from w))`)
          .where('state', '=', sql.lit('held'))
          .where('leaseUntil', '<', clockTime)
          .returning(['windowId', 'amount']),
      )
      .with('u', (of) =>
        of
          .updateTable('budget_windows')
          .from((eb) =>
            eb
              .selectFrom('h')
              .select(({ fn }) => ['h.windowId', fn.sum<string>('h.amount').as('amount')])
              .groupBy('h.windowId')
              .as('t'),
          )
          .set(({ eb, ref }) => ({ reserved: eb('budget_windows.reserved', '-', ref('t.amount')) }))
          .whereRef('budget_windows.id', '=', 't.windowId'),
      )
      .selectFrom('h')
      .select(sql<number>`count(*)::int`.as('count')),
  );
  return expired?.count ?? 0;
}

/** Returns workspaces with a window past its end, the longest ended first. */
export async function endedWindows(em: SqlEntityManager, limit: number): Promise<string[]> {
  const ended = await rows(
    em,
    query
      .selectFrom('budget_windows')
      .where('closedAt', 'is', null)
      .where('windowEnd', '<=', clockTime)
      .select('workspaceId')
      .groupBy('workspaceId')
      .orderBy(({ fn }) => fn.min('windowEnd'))
      .limit(limit),
  );
  return ended.map(({ workspaceId }) => workspaceId);
}
