import { change, row } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import type { RateInForce } from '../prices/fx-rates.ts';
import type { JudgedWindow, BudgetSeverity } from '../ledger/settle.ts';
import { boundsNowSql, ledgerSumSql } from './windows.ts';

/** What happens to the open window of a budget that has been written. */
export interface WindowCut {
  readonly budgetId: string;
  /** The budget is counted from another day, so the window gets a new start and end. */
  readonly isMoved: boolean;
  /** Set when the budget has another currency, or calls are priced in another one: the base currency and the rate from it. Null: the window keeps its rate. */
  readonly rate: (RateInForce & { readonly base: string }) | null;
}

/**
 * Makes the open window of a budget match the budget. A window that is moved, or gets another currency, recomputes its spending from the ledger; amounts
 * held by calls in flight stay, in the new currency. The transaction has locked the workspace's ledger exclusively (`lockLedger`).
 */
export async function cutWindow(tx: TenantTransaction, { budgetId, isMoved, rate }: WindowCut): Promise<void> {
  // Reservations wait from here on and then find the new amounts held.
  await row(tx.em, 'select id from budget_windows where budget_id = ? and closed_at is null for update', [budgetId]);
  if (rate !== null) await convertHolds(tx, budgetId, rate.rate);
  const start = isMoved ? 'bounds.start' : 'b.window_start';
  const end = isMoved ? 'bounds.stop' : 'b.window_end';
  const newRate = 'coalesce(r.rate, b.fx_rate)';
  const newBase = 'coalesce(r.base, b.base_currency, b.currency)';
  const spent =
    isMoved || rate !== null ? ledgerSumSql({ workspaceId: 'g.workspace_id', base: newBase, rate: newRate, start, end }) : 'b.spent';
  await change(
    tx.em,
    `update budget_windows w set budget_version = n.version, limit_amount = n.limit_amount, is_enforced = n.is_enforced, currency = n.currency, window_start = n.start,
            window_end = n.stop, fx_rate = n.rate, fx_as_of = n.as_of, base_currency = n.base, spent = n.spent
       from (
         select b.id, g.version, g.limit_amount, g.is_enforced, g.currency, ${start} as start, ${end} as stop, ${newRate} as rate,
                case when r.rate is null then b.fx_as_of else r.as_of end as as_of, ${newBase} as base, ${spent} as spent
           from budgets g
           join (select id as workspace_id, timezone as zone from workspaces) z on z.workspace_id = g.workspace_id
           join budget_windows b on b.budget_id = g.id and b.closed_at is null
           cross join (select ?::numeric as rate, ?::timestamptz as as_of, ?::char(3) as base) r
           ${boundsNowSql}
          where g.id = ?) n
      where w.id = n.id`,
    [rate?.rate ?? null, rate?.asOf ?? null, rate?.base ?? null, budgetId],
  );
}

/** Returns the currency in which the open window of a budget expects calls to be priced, or null when no window is open. */
export async function baseOfWindow(tx: TenantTransaction, budgetId: string): Promise<string | null> {
  const found = await row<{ base: string }>(
    tx.em,
    'select coalesce(base_currency, currency) as base from budget_windows where budget_id = ? and closed_at is null',
    [budgetId],
  );
  return found?.base ?? null;
}

/** Converts the amounts held by calls in flight to the currency of another rate, rounded up as a reservation rounds them. */
async function convertHolds(tx: TenantTransaction, budgetId: string, rate: string): Promise<void> {
  await change(
    tx.em,
    `with b as (select id, fx_rate from budget_windows where budget_id = ? and closed_at is null),
     h as (
       update budget_holds x set amount = ceil(x.amount * ?::numeric / b.fx_rate * 1e9) / 1e9 from b where x.window_id = b.id and x.state = 'held' returning x.amount)
     update budget_windows w set reserved = coalesce((select sum(amount) from h), 0) from b where w.id = b.id`,
    [budgetId, rate],
  );
}

/** Closes the open window of a deleted budget. Calls in flight still settle into it. */
export async function closeWindow(tx: TenantTransaction, budgetId: string): Promise<void> {
  await change(tx.em, 'update budget_windows set closed_at = clock_timestamp() where budget_id = ? and closed_at is null', [budgetId]);
}

/** Judges how full the open window of a budget is. Null: it has no limit, or is below the threshold. */
export async function judgeWindow(
  tx: TenantTransaction,
  budgetId: string,
): Promise<(JudgedWindow & { readonly severity: BudgetSeverity }) | null> {
  return row<JudgedWindow & { severity: BudgetSeverity }>(
    tx.em,
    `select b.budget_id, b.budget_version, b.window_start, b.window_end, b.period, b.currency, b.limit_amount::text as limit, b.spent::text as spent,
            case b.limit_amount when 0 then 100 else round(b.spent * 100 / b.limit_amount, 1) end::text as used_pct, g.alert_threshold_pct,
            case when b.spent >= b.limit_amount then 'critical' else 'warning' end as severity
       from budgets g join budget_windows b on b.budget_id = g.id and b.closed_at is null
      where g.id = ? and b.limit_amount is not null and (b.spent >= b.limit_amount or b.spent * 100 >= b.limit_amount * g.alert_threshold_pct)`,
    [budgetId],
  );
}
