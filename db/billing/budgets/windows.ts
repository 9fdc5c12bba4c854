import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { newId } from '../../ids.ts';
import { change, row, rows } from '../../sql.ts';
import { rateInForce, type RateInForce } from '../prices/fx-rates.ts';
import { lockLedger } from '../ledger/ledger-lock.ts';

/** Returns boundary `n` of a budget `g` in zone `zone`: a local midnight, counted from the anchor itself and clamped to the end of its month. */
function boundary(n: string): string {
  return `case g.period when 'day' then (g.period_start + (${n}))::timestamp else g.period_start + make_interval(months => (${n})::int) end at time zone z.zone`;
}

const monthsOf = (day: string) => `(extract(year from ${day}) * 12 + extract(month from ${day}))::int`;

/**
 * Returns joins that add to budgets `g` and zones `z` the boundaries around an instant: `bounds.start` ≤ instant < `bounds.stop`. The first guess counts
 * calendar days or months; a clamped or shifted midnight makes it wrong by at most one.
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

/** The bounds of the current period of budgets `g` (zone `z.zone`), for reads of windows that are not open yet. */
export const boundsNowSql = boundsSql('clock_timestamp()');

/** A period of the ledger, each part as SQL. */
interface Stretch {
  readonly workspaceId: string;
  /** The currency that `rate` converts from. */
  readonly base: string;
  readonly rate: string;
  readonly start: string;
  readonly end: string;
}

/**
 * Returns an expression for the cost of calls that were reserved in a period, in the currency to which `rate` converts: each is rounded on its own, as
 * settling rounds it. Calls that were priced in a currency other than `base`, before a change of `BILLING_CURRENCY`, are left out: currencies are never
 * added up. No call is entered before it was reserved, so the ledger's index by entry time serves; one hour allows for clocks that differ.
 */
export function ledgerSumSql({ workspaceId, base, rate, start, end }: Stretch): string {
  return `coalesce((select sum(round(e.cost * ${rate}, 9)) from usage_entries e where e.workspace_id = ${workspaceId}
    and e.currency = ${base} and e.occurred_at >= ${start} - interval '1 hour' and e.reserved_at >= ${start} and e.reserved_at < ${end}), 0)`;
}

/** The base currency of a window; a window of an older release has only its own currency. */
const baseSql = 'coalesce(b.base_currency, b.currency)';

interface DueBudget {
  readonly id: string;
  readonly currency: string;
  /** Base currency of its last window; null: it has had none. */
  readonly base: string | null;
}

/**
 * Closes the ended windows of a workspace and opens the next ones, including the first of a budget that has none (`base`: its base currency). A new window
 * begins where the last one ended if that is after the boundary, as after a change of zone; with another currency it takes the rate in force. Needs a
 * transaction that has not locked a window yet. Returns how many windows it opened.
 */
export async function rollWindows(em: SqlEntityManager, workspaceId: string, base: string | null = null): Promise<number> {
  if (!(await isAnyDue(em, workspaceId))) return 0;
  await lockLedger(em, workspaceId);
  await rows(em, 'select id from budgets where workspace_id = ? order by id for share', [workspaceId]);
  // Locks all open windows, in the common order: the caller may change one that has not ended, and a reservation holds that one while it waits for one that
  // has.
  await change(
    em,
    `update budget_windows w set closed_at = clock_timestamp() where w.window_end <= clock_timestamp() and w.id = any (array(
       select b.id from budget_windows b where b.workspace_id = ? and b.closed_at is null and b.cap_key is null order by b.period, b.id for update))`,
    [workspaceId],
  );
  const due = await rows<DueBudget>(
    em,
    `select g.id, g.currency, last.base from budgets g
       left join lateral (select ${baseSql} as base from budget_windows b where b.budget_id = g.id order by b.window_end desc limit 1) last on true
      where g.workspace_id = ? and not exists (select from budget_windows b where b.budget_id = g.id and b.closed_at is null)`,
    [workspaceId],
  );
  return due.length === 0 ? 0 : openWindows(em, workspaceId, await ratesOf(em, due, base));
}

/** Most checks find nothing to do and block nothing. */
async function isAnyDue(em: SqlEntityManager, workspaceId: string): Promise<boolean> {
  const due = await row(
    em,
    `select from budgets g where g.workspace_id = ? and not exists (
       select from budget_windows b where b.budget_id = g.id and b.closed_at is null and b.window_end > clock_timestamp()) limit 1`,
    [workspaceId],
  );
  return due !== null;
}

interface BudgetRate extends Partial<RateInForce> {
  readonly id: string;
  readonly base: string;
}

/** Returns the rate for each next window; without `rate` the last window's rate continues. */
async function ratesOf(em: SqlEntityManager, due: readonly DueBudget[], base: string | null): Promise<BudgetRate[]> {
  const rates: BudgetRate[] = [];
  for (const budget of due) {
    const from = budget.base ?? base ?? budget.currency;
    const rate = from === budget.currency ? null : await rateInForce({ em }, { base: from, quote: budget.currency });
    rates.push({ id: budget.id, base: from, ...rate });
  }
  return rates;
}

function openWindows(em: SqlEntityManager, workspaceId: string, rates: readonly BudgetRate[]): Promise<number> {
  const spent = ledgerSumSql({ workspaceId: 'g.workspace_id', base: 'r.base', rate: 'n.rate', start: 'n.start', end: 'n.stop' });
  return change(
    em,
    `insert into budget_windows (id, organization_id, workspace_id, budget_id, budget_version, period, window_start, window_end, currency, base_currency, fx_rate, fx_as_of,
       limit_amount, is_enforced, spent)
     select r.new_id, g.organization_id, g.workspace_id, g.id, g.version, g.period, n.start, n.stop, g.currency, r.base, n.rate, n.as_of, g.limit_amount, g.is_enforced, ${spent}
       from jsonb_to_recordset(?::jsonb) as r(id uuid, new_id uuid, base text, rate numeric, "asOf" timestamptz)
       join budgets g on g.id = r.id
       join (select id as workspace_id, timezone as zone from workspaces) z on z.workspace_id = g.workspace_id
       left join lateral (select b.window_end, b.fx_rate, b.fx_as_of from budget_windows b where b.budget_id = g.id order by b.window_end desc limit 1) last on true
       ${boundsNowSql}
       cross join lateral (
         select greatest(bounds.start, last.window_end) as start, bounds.stop, coalesce(r.rate, case when r.base <> g.currency then last.fx_rate end, 1) as rate,
                case when r.rate is not null then r."asOf" when r.base <> g.currency then last.fx_as_of end as as_of) n
      where g.workspace_id = ?
     on conflict (budget_id) where closed_at is null do nothing`,
    [JSON.stringify(rates.map((rate) => ({ ...rate, new_id: newId() }))), workspaceId],
  );
}
