import { sql, type NotNull, type Selectable } from 'kysely';
import { query } from '../../query.ts';
import { change, row } from '../../sql.ts';
import type { Tables } from '../../table-types.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import type { RateInForce } from '../prices/fx-rates.ts';
import type { BudgetSeverity } from '../ledger/settle.ts';
import { boundsNowSql, ledgerSumSql } from './windows.ts';

/** What happens to the open window of a budget that has been written. */
export interface WindowCut {
  readonly budgetId: string;
  /** The budget is counted from another day, so the window gets a new start and end. */
  readonly isMoved: boolean;
  /** Set when the budget has another currency, or calls are priced in another one: the base currency and the rate from it. Null: the window keeps its rate. */
  readonly rate: (RateInForce & { readonly base: string }) | null;
}

type Windows = Selectable<Tables['budget_windows']>;

/** What a window becomes. */
interface CutColumns extends Pick<Windows, 'id' | 'limitAmount' | 'isEnforced' | 'currency' | 'spent'> {
  readonly version: Windows['budgetVersion'];
  readonly start: Windows['windowStart'];
  readonly stop: Windows['windowEnd'];
  readonly rate: Windows['fxRate'];
  readonly asOf: Windows['fxAsOf'];
  readonly base: Windows['baseCurrency'];
}

/**
 * Makes the open window of a budget match the budget. A window that is moved, or gets another currency, recomputes its spending from the ledger; amounts
 * held by calls in flight stay, in the new currency. The transaction has locked the workspace's ledger exclusively (`lockLedger`).
 */
export async function cutWindow(tx: TenantTransaction, { budgetId, isMoved, rate }: WindowCut): Promise<void> {
  // Reservations wait from here on and then find the new amounts held.
  await row(
    tx.em,
    query.selectFrom('budget_windows').where('budgetId', '=', budgetId).where('closedAt', 'is', null).select('id').forUpdate(),
  );
  if (rate !== null) await convertHolds(tx, budgetId, rate.rate);
  const start = isMoved ? 'bounds.start' : 'b.window_start';
  const end = isMoved ? 'bounds.stop' : 'b.window_end';
  const newRate = 'coalesce(r.rate, b.fx_rate)';
  const newBase = 'coalesce(r.base, b.base_currency, b.currency)';
  const spent =
    isMoved || rate !== null ? ledgerSumSql({ workspaceId: 'g.workspace_id', base: newBase, rate: newRate, start, end }) : 'b.spent';
  const cut = sql<CutColumns>`(
    select b.id, g.version, g.limit_amount, g.is_enforced, g.currency, ${sql.raw(start)} as start, ${sql.raw(end)} as stop, ${sql.raw(newRate)} as rate,
           case when r.rate is null then b.fx_as_of else r.as_of end as as_of, ${sql.raw(newBase)} as base, ${sql.raw(spent)} as spent
      from budgets g
      join (select id as workspace_id, timezone as zone from workspaces) z on z.workspace_id = g.workspace_id
      join budget_windows b on b.budget_id = g.id and b.closed_at is null
      cross join (select ${rate?.rate ?? null}::numeric as rate, ${rate?.asOf ?? null}::timestamptz as as_of, ${rate?.base ?? null}::char(3) as base) r
      ${sql.raw(boundsNowSql)}
     where g.id = ${budgetId})`;
  await change(
    tx.em,
    query
      .updateTable('budget_windows')
      .from(cut.as('n'))
      .set(({ ref }) => ({
        budgetVersion: ref('n.version'),
        limitAmount: ref('n.limitAmount'),
        isEnforced: ref('n.isEnforced'),
        currency: ref('n.currency'),
        windowStart: ref('n.start'),
        windowEnd: ref('n.stop'),
        fxRate: ref('n.rate'),
        fxAsOf: ref('n.asOf'),
        baseCurrency: ref('n.base'),
        spent: ref('n.spent'),
      }))
      .whereRef('budget_windows.id', '=', 'n.id'),
  );
}

/** Returns the currency in which the open window of a budget expects calls to be priced, or null when no window is open. */
export async function baseOfWindow(tx: TenantTransaction, budgetId: string): Promise<string | null> {
  const found = await row(
    tx.em,
    query
      .selectFrom('budget_windows')
      .where('budgetId', '=', budgetId)
      .where('closedAt', 'is', null)
      .select(({ fn }) => fn.coalesce('baseCurrency', 'currency').as('base')),
  );
  return found?.base ?? null;
}

/** Converts the amounts held by calls in flight to the currency of another rate, rounded up as a reservation rounds them. */
async function convertHolds(tx: TenantTransaction, budgetId: string, rate: string): Promise<void> {
  await change(
    tx.em,
    query
      .with('b', (of) =>
        of.selectFrom('budget_windows').where('budgetId', '=', budgetId).where('closedAt', 'is', null).select(['id', 'fxRate']),
      )
      .with('h', (of) =>
        of
          .updateTable('budget_holds')
          .from('b')
          .set({ amount: sql<string>`ceil(budget_holds.amount * ${rate}::numeric / b.fx_rate * 1e9) / 1e9` })
          .whereRef('budget_holds.windowId', '=', 'b.id')
          .where('budget_holds.state', '=', 'held')
          .returning('budget_holds.amount'),
      )
      .updateTable('budget_windows')
      .from('b')
      .set({ reserved: sql<string>`coalesce((select sum(amount) from h), 0)` })
      .whereRef('budget_windows.id', '=', 'b.id'),
  );
}

/** Closes the open window of a deleted budget. Calls in flight still settle into it. */
export async function closeWindow(tx: TenantTransaction, budgetId: string): Promise<void> {
  await change(
    tx.em,
    query
      .updateTable('budget_windows')
      .set({ closedAt: sql<string>`clock_timestamp()` })
      .where('budgetId', '=', budgetId)
      .where('closedAt', 'is', null),
  );
}

/** A window of a budget, as an alert describes it. `usedPct`: percentage of the limit that is spent, as a decimal. */
export type JudgedWindow = Omit<NonNullable<Awaited<ReturnType<typeof judgeWindow>>>, 'severity'>;

/** Judges how full the open window of a budget is. Null: it has no limit, or is below the threshold. */
export function judgeWindow(tx: TenantTransaction, budgetId: string) {
  return row(
    tx.em,
    query
      .selectFrom('budgets as g')
      .innerJoin('budget_windows as b', (join) => join.onRef('b.budgetId', '=', 'g.id').on('b.closedAt', 'is', null))
      .where('g.id', '=', budgetId)
      .where('b.limitAmount', 'is not', null)
      .where(sql<boolean>`(b.spent >= b.limit_amount or b.spent * 100 >= b.limit_amount * g.alert_threshold_pct)`)
      .select(['g.id as budgetId', 'b.budgetVersion', 'b.windowStart', 'b.windowEnd', 'b.period', 'b.currency', 'b.limitAmount as limit'])
      .select(['b.spent', 'g.alertThresholdPct'])
      .select([
        sql<string>`case b.limit_amount when 0 then 100 else round(b.spent * 100 / b.limit_amount, 1) end::text`.as('usedPct'),
        sql<BudgetSeverity>`case when b.spent >= b.limit_amount then 'critical' else 'warning' end`.as('severity'),
      ])
      // Only a cap has no end.
      .$narrowType<{ windowEnd: NotNull; limit: NotNull }>(),
  );
}
