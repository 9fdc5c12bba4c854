import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { newId } from '../ids.ts';
import { change, rows } from '../sql.ts';

/** Boundary `n` of a budget `g` in zone `zone`: local midnight, each counted from the anchor itself, clamped to the end of its month. */
function boundary(n: string): string {
  return `case g.period when 'day' then (g.period_start + (${n}))::timestamp else g.period_start + make_interval(months => (${n})::int) end at time zone z.zone`;
}

const monthsOf = (day: string) => `(extract(year from ${day}) * 12 + extract(month from ${day}))::int`;

/**
 * Joins to budgets `g` and zones `z` the boundaries around an instant: `bounds.start` ≤ instant < `bounds.stop`. The first guess counts
 * calendar days or months; a clamped or shifted midnight makes it wrong by one at most.
 */
function boundsSql(instant: string): string {
  return `
    cross join lateral (select (${instant} at time zone z.zone)::date as today) l
    cross join lateral (
      select case g.period when 'day' then l.today - g.period_start else ${monthsOf('l.today')} - ${monthsOf('g.period_start')} end as n) guess
    cross join lateral (
      select case when ${boundary('guess.n')} > ${instant} then guess.n - 1 when ${boundary('guess.n + 1')} <= ${instant} then guess.n + 1 else guess.n end as n) c
    cross join lateral (select ${boundary('c.n')} as start, ${boundary('c.n + 1')} as stop) bounds`;
}

/** The end of the stretch of budgets `g` (zone `z.zone`) that holds now, for the reads of windows that nobody has opened yet. */
export const boundsNowSql = boundsSql('clock_timestamp()');

/**
 * Closes the ended windows of a workspace and opens the next, and the first of a budget that has none. A new window begins where the last one
 * ended when that lies behind the boundary, as after a change of zone. Needs a transaction that holds no window yet: budgets are locked before
 * windows. Gives how many it opened.
 */
export async function rollWindows(em: SqlEntityManager, workspaceId: string): Promise<number> {
  await rows(em, 'select id from budgets where workspace_id = ? order by id for share', [workspaceId]);
  await change(
    em,
    `update budget_windows w set closed_at = clock_timestamp() where w.id = any (array(
       select b.id from budget_windows b where b.workspace_id = ? and b.closed_at is null and b.window_end <= clock_timestamp() order by b.period, b.id for update))`,
    [workspaceId],
  );
  return change(
    em,
    `insert into budget_windows (id, organization_id, workspace_id, budget_id, budget_version, period, window_start, window_end, currency, fx_rate, limit_amount, is_enforced)
     select (?::uuid[])[row_number() over (order by g.period)], g.organization_id, g.workspace_id, g.id, g.version, g.period,
            greatest(bounds.start, last.window_end), bounds.stop, g.currency, coalesce(last.fx_rate, 1), g.limit_amount, g.is_enforced
       from budgets g
       join (select id as workspace_id, timezone as zone from workspaces) z on z.workspace_id = g.workspace_id
       left join lateral (select b.window_end, b.fx_rate from budget_windows b where b.budget_id = g.id order by b.window_end desc limit 1) last on true
       ${boundsNowSql}
      where g.workspace_id = ? and not exists (select from budget_windows b where b.budget_id = g.id and b.closed_at is null)
     on conflict (budget_id) where closed_at is null do nothing`,
    [[newId(), newId()], workspaceId],
  );
}
