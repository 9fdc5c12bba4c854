import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { row, rows } from '../../sql.ts';

/** Keys of calls that have left and are not settled yet: the successor of a lost worker settles them, and until then they keep their holds. */
const inFlightSql = `
  select 'run:' || s.run_id || ':' || s.step || ':' || (s.in_flight ->> 'attempt') || ':0' as key from run_steps s where s.in_flight is not null
  union all select v.value #>> '{asked,callKey}' from evaluation_runs e
    join evaluation_results r on r.evaluation_run_id = e.id and r.status = 'scoring' cross join jsonb_each(r.votes) v
   where e.finished_at is null and jsonb_exists(v.value, 'asked')`;

/**
 * Expires up to `limit` holds with a passed lease, except those of calls recorded as in flight; returns their number. Locks windows before holds, in the
 * order of every reservation.
 */
export async function expireHolds(em: SqlEntityManager, limit: number): Promise<number> {
  const expired = await row<{ count: number }>(
    em,
    `with due as materialized (
       select call_key, window_id from budget_holds h where state = 'held' and lease_until < clock_timestamp()
          and not exists (select from (${inFlightSql}) f where f.key = h.call_key) order by lease_until limit ?),
     w as materialized (select b.id from budget_windows b where b.id = any (array(select window_id from due)) order by b.period, b.id for update),
     h as (
       update budget_holds x set state = 'expired', closed_at = clock_timestamp()
        where x.call_key = any (array(select call_key from due)) and x.window_id = any (array(select id from w)) and x.state = 'held' and x.lease_until < clock_timestamp() returning x.window_id, x.amount),
     u as (
       update budget_windows b set reserved = b.reserved - t.amount
         from (select window_id, sum(amount) as amount from h group by window_id) t where b.id = t.window_id)
     select count(*)::int as count from h`,
    [limit],
  );
  return expired?.count ?? 0;
}

/** Returns workspaces with a window past its end, the longest ended first. */
export async function endedWindows(em: SqlEntityManager, limit: number): Promise<string[]> {
  const ended = await rows<{ workspace_id: string }>(
    em,
    `select workspace_id from budget_windows where closed_at is null and window_end <= clock_timestamp()
      group by workspace_id order by min(window_end) limit ?`,
    [limit],
  );
  return ended.map((window) => window.workspace_id);
}
