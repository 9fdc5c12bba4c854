import { sql, type NotNull } from 'kysely';
import { prepared, type ParametersOf } from '../../prepared.ts';
import { query } from '../../query.ts';
import { rows } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';

/** The cost of a call, which replaces its hold. */
export interface SettledCost {
  readonly callKey: string;
  readonly workspaceId: string;
  /** Decimal in the billing currency. */
  readonly cost: string;
  /** The call belongs to the windows of this instant, whether or not it held anything in them. */
  readonly reservedAt: Date;
  /** Caps in which it counts although it held nothing in them, as an adjustment does. */
  readonly caps?: readonly string[];
}

/** How full a window is: past its warning threshold, or full. */
export type BudgetSeverity = 'warning' | 'critical';

/** A window with a limit to which a call was added. Decimals in the window's currency; `pct` of the limit. */
export type SettledWindow = Awaited<ReturnType<typeof settleHolds>>[number];
/** The window with the least budget left after a settled call. `isCrossed`: this call crossed its alert threshold. */
export type BudgetState = Pick<SettledWindow, 'period' | 'limit' | 'spent' | 'reserved' | 'pct' | 'isCrossed'>;

const added = sql<string>`case when t.counts then round(a.cost * budget_windows.fx_rate, 9) else 0 end`;

// A window of a budget counts the calls that were reserved in its time, a cap those that hold an amount in it. The ledger's lock keeps the windows' times
// unchanged.
const settling = prepared(({ callKey, workspaceId, cost, reservedAt, caps }: ParametersOf<Required<SettledCost>>) =>
  query
    .with('a', (of) =>
      of.selectNoFrom([
        sql<string>`${callKey}::text`.as('key'),
        sql<string>`${workspaceId}::uuid`.as('ws'),
        sql<string>`${cost}::numeric`.as('cost'),
        sql<string>`${reservedAt}::timestamptz`.as('at'),
        sql<string[]>`${caps}::text[]`.as('caps'),
      ]),
    )
    .with(
      (cte) => cte('w').materialized(),
      (of) =>
        of
          .selectFrom('budget_windows as b')
          .where(
            sql<boolean>`b.id = any (array(
              select h.window_id from budget_holds h, a where h.call_key = a.key
              union select l.id from budget_windows l, a where l.budget_id = any (array(select g.id from budgets g, a where g.workspace_id = a.ws)) and l.window_end > a.at
              union select c.id from budget_windows c where c.cap_key = any ((select caps from a)::text[]) and c.workspace_id = (select ws from a)))`,
          )
          .select(['b.id', 'b.budgetId', 'b.capKey', 'b.windowStart', 'b.windowEnd'])
          .orderBy('b.period')
          .orderBy('b.id')
          .forUpdate(),
    )
    .with(
      (cte) => cte('h').materialized(),
      (of) =>
        of
          .selectFrom('budget_holds as h')
          .where(sql<boolean>`h.call_key = (select key from a) and h.window_id = any (array(select id from w))`)
          .select(['h.windowId', 'h.amount', 'h.state'])
          .forUpdate(),
    )
    .with('s', (of) =>
      of
        .updateTable('budget_holds')
        .from(['h', 'a'])
        .set({ state: 'settled', closedAt: sql<string>`clock_timestamp()` })
        .whereRef('budget_holds.callKey', '=', 'a.key')
        .whereRef('budget_holds.windowId', '=', 'h.windowId')
        .where('h.state', '<>', 'settled'),
    )
    .with('t', (of) =>
      of
        .selectFrom('w')
        .crossJoin('a')
        .leftJoin('h', 'h.windowId', 'w.id')
        .where('h.state', 'is distinct from', 'settled')
        .select(['w.id', 'h.amount as held', sql<string>`case h.state when 'held' then h.amount else 0 end`.as('givenBack')])
        .select(
          sql<boolean>`case when w.budget_id is null then h.state is not null or w.cap_key = any (a.caps) else a.at >= w.window_start and a.at < w.window_end end`.as(
            'counts',
          ),
        ),
    )
    .with('u', (of) =>
      of
        .updateTable('budget_windows')
        .from(['t', 'a'])
        .set(({ eb, ref }) => ({
          spent: eb('budget_windows.spent', '+', added),
          reserved: eb('budget_windows.reserved', '-', ref('t.givenBack')),
        }))
        .whereRef('budget_windows.id', '=', 't.id')
        .where(sql<boolean>`(t.counts or t.given_back > 0)`)
        .returning(['budget_windows.budgetId', 'budget_windows.budgetVersion', 'budget_windows.windowStart', 'budget_windows.windowEnd'])
        .returning(['budget_windows.period', 'budget_windows.currency', 'budget_windows.limitAmount', 'budget_windows.spent'])
        .returning(['budget_windows.reserved', 'budget_windows.closedAt', 'budget_windows.fxRate', 't.held', added.as('added')]),
    )
    .with('p', (of) =>
      of
        .selectFrom('u')
        .leftJoin('budgets as g', 'g.id', 'u.budgetId')
        .where('u.limitAmount', 'is not', null)
        .selectAll('u')
        .select([
          'g.alertThresholdPct',
          sql<string>`case u.limit_amount when 0 then 100 else round(u.spent * 100 / u.limit_amount, 1) end`.as('pct'),
          sql<
            boolean | null
          >`u.spent * 100 >= u.limit_amount * g.alert_threshold_pct and (u.spent - u.added) * 100 < u.limit_amount * g.alert_threshold_pct`.as(
            'warns',
          ),
          sql<boolean>`u.spent >= u.limit_amount and u.spent - u.added < u.limit_amount`.as('fills'),
        ]),
    )
    .selectFrom('p')
    .select(['p.budgetId', 'p.budgetVersion', 'p.windowStart', 'p.windowEnd', 'p.period', 'p.currency', 'p.limitAmount as limit'])
    .select(['p.spent', 'p.reserved', 'p.alertThresholdPct'])
    .select([
      sql<number>`p.pct::float8`.as('pct'),
      sql<string>`p.pct::text`.as('usedPct'),
      sql<boolean>`coalesce(p.warns, false)`.as('isCrossed'),
      // What the call cost beyond its hold: a decimal in the billing currency; null where it held nothing.
      sql<string | null>`round(greatest(p.added - p.held, 0) / p.fx_rate, 9)::text`.as('aboveEstimate'),
      // The severity that the call brought an open window of a budget to.
      sql<BudgetSeverity | null>`case when p.budget_id is null or p.closed_at is not null then null when p.fills then 'critical' when p.warns then 'warning' end`.as(
        'crossed',
      ),
    ])
    .$narrowType<{ limit: NotNull }>()
    .orderBy('p.pct', 'desc')
    .orderBy('p.period'),
);

/**
 * Replaces a call's holds by its actual cost, in the windows in which it was reserved, closed or not; a hold that was released or has expired counts all
 * the same. Part of the transaction that writes the call's ledger row, after it and only if it was written; `shareLedger` comes before both. Returns the
 * windows with a limit to which the cost was added, the one with the least budget left first.
 */
export function settleHolds(tx: TenantTransaction, { callKey, workspaceId, cost, reservedAt, caps = [] }: SettledCost) {
  return rows(tx.em, settling({ callKey, workspaceId, cost, reservedAt, caps }));
}
