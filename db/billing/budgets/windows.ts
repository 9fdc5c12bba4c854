import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import { clockTime } from '../../expressions.ts';
import { newId } from '../../ids.ts';
import { prepared, type ParametersOf } from '../../prepared.ts';
import { query } from '../../query.ts';
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

/**
 * Closes the ended windows of a workspace and opens the next ones, including the first of a budget that has none (`base`: its base currency). A new window
 * begins where the last one ended if that is after the boundary, as after a change of zone; with another currency it takes the rate in force. Needs a
 * transaction that has not locked a window yet. Returns how many windows it opened.
 */
export async function rollWindows(em: SqlEntityManager, workspaceId: string, base: string | null = null): Promise<number> {
  if (!(await isAnyDue(em, workspaceId))) return 0;
  await lockLedger(em, workspaceId);
  await rows(em, query.selectFrom('budgets').where('workspaceId', '=', workspaceId).select('id').orderBy('id').forShare());
  // Locks all open windows, in the common order: the caller may change one that has not ended, and a reservation holds that one while it waits for one that
  // has.
  const open = query
    .selectFrom('budget_windows as b')
    .where('b.workspaceId', '=', workspaceId)
    .where('b.closedAt', 'is', null)
    .where('b.capKey', 'is', null)
    .select('b.id')
    .orderBy('b.period')
    .orderBy('b.id')
    .forUpdate();
  await change(
    em,
    query
      .updateTable('budget_windows')
      .set({ closedAt: clockTime })
      .where('windowEnd', '<=', clockTime)
      .where(sql<boolean>`id = any (array${open})`),
  );
  const due = await dueBudgets(em, workspaceId);
  return due.length === 0 ? 0 : openWindows(em, workspaceId, await ratesOf(em, due, base));
}

type DueBudget = Awaited<ReturnType<typeof dueBudgets>>[number];

/** Returns the budgets without an open window. `base`: base currency of the last one; null: it has had none. */
function dueBudgets(em: SqlEntityManager, workspaceId: string) {
  return rows(
    em,
    query
      .selectFrom('budgets as g')
      .leftJoinLateral(
        (eb) =>
          eb
            .selectFrom('budget_windows as b')
            .whereRef('b.budgetId', '=', 'g.id')
            // A window of an older release has only its own currency.
            .select(({ fn }) => fn.coalesce('b.baseCurrency', 'b.currency').as('base'))
            .orderBy('b.windowEnd', 'desc')
            .limit(1)
            .as('last'),
        (join) => join.onTrue(),
      )
      .where('g.workspaceId', '=', workspaceId)
      .where(({ exists, not, selectFrom }) =>
        not(exists(selectFrom('budget_windows as b').whereRef('b.budgetId', '=', 'g.id').where('b.closedAt', 'is', null).select('b.id'))),
      )
      .select(['g.id', 'g.currency', 'last.base']),
  );
}

const dueBudget = prepared(({ workspaceId }: ParametersOf<{ readonly workspaceId: string }>) =>
  query
    .selectFrom('budgets as g')
    .where('g.workspaceId', '=', workspaceId)
    .where(({ exists, not, selectFrom }) => {
      const current = selectFrom('budget_windows as b')
        .whereRef('b.budgetId', '=', 'g.id')
        .where('b.closedAt', 'is', null)
        .where('b.windowEnd', '>', clockTime)
        .select('b.id');
      return not(exists(current));
    })
    .select('g.id')
    .limit(1),
);

/** Most checks find nothing to do and block nothing. */
async function isAnyDue(em: SqlEntityManager, workspaceId: string): Promise<boolean> {
  return (await row(em, dueBudget({ workspaceId }))) !== null;
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
  const given = JSON.stringify(rates.map((rate) => ({ ...rate, new_id: newId() })));
  const spent = ledgerSumSql({ workspaceId: 'g.workspace_id', base: 'r.base', rate: 'n.rate', start: 'n.start', end: 'n.stop' });
  const opened = sql`
    select r.new_id, g.organization_id, g.workspace_id, g.id, g.version, g.period, n.start, n.stop, g.currency, r.base, n.rate, n.as_of, g.limit_amount, g.is_enforced, ${sql.raw(spent)}
      from jsonb_to_recordset(${given}::jsonb) as r(id uuid, new_id uuid, base text, rate numeric, "asOf" timestamptz)
      join budgets g on g.id = r.id
      join (select id as workspace_id, timezone as zone from workspaces) z on z.workspace_id = g.workspace_id
      left join lateral (select b.window_end, b.fx_rate, b.fx_as_of from budget_windows b where b.budget_id = g.id order by b.window_end desc limit 1) last on true
      ${sql.raw(boundsNowSql)}
      cross join lateral (
        select greatest(bounds.start, last.window_end) as start, bounds.stop, coalesce(r.rate, case when r.base <> g.currency then last.fx_rate end, 1) as rate,
               case when r.rate is not null then r."asOf" when r.base <> g.currency then last.fx_as_of end as as_of) n
     where g.workspace_id = ${workspaceId}`;
  return change(
    em,
    query
      .insertInto('budget_windows')
      .columns([
        'id',
        'organizationId',
        'workspaceId',
        'budgetId',
        'budgetVersion',
        'period',
        'windowStart',
        'windowEnd',
        'currency',
        'baseCurrency',
        'fxRate',
        'fxAsOf',
        'limitAmount',
        'isEnforced',
        'spent',
      ])
      .expression(opened)
      .onConflict((conflict) => conflict.column('budgetId').where('closedAt', 'is', null).doNothing()),
  );
}
