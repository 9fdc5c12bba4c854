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

/** The window with the least budget left after a settled call. Decimals in the window's currency; `pct` of the limit. */
export interface BudgetState {
  readonly period: string;
  readonly limit: string;
  readonly spent: string;
  readonly reserved: string;
  readonly pct: number;
  /** This call crossed its alert threshold. */
  readonly is_crossed: boolean;
}

/** A window of a budget, as an alert describes it. */
export interface JudgedWindow {
  readonly budget_id: string;
  readonly budget_version: number;
  readonly window_start: string;
  readonly window_end: string;
  readonly period: string;
  readonly currency: string;
  readonly limit: string;
  readonly spent: string;
  /** Percentage of the limit that is spent, as a decimal. */
  readonly used_pct: string;
  readonly alert_threshold_pct: number | null;
}

/** How full a window is: past its warning threshold, or full. */
export type BudgetSeverity = 'warning' | 'critical';

/** A window with a limit to which a call was added. `crossed`: the severity that the call brought an open window of a budget to. */
export type SettledWindow = BudgetState & {
  /** What the call cost beyond its hold: a decimal in the billing currency; null where it held nothing. */
  readonly above_estimate: string | null;
} & ((JudgedWindow & { readonly crossed: BudgetSeverity }) | { readonly budget_id: string | null; readonly crossed: null });

// A window of a budget counts the calls that were reserved in its time, a cap those that hold an amount in it. The ledger's lock keeps the windows' times
// unchanged.
const settleSql = `
with a as (select ?::text as key, ?::uuid as ws, ?::numeric as cost, ?::timestamptz as at, ?::text[] as caps),
w as materialized (
  select b.id, b.budget_id, b.cap_key, b.window_start, b.window_end from budget_windows b
   where b.id = any (array(
     select h.window_id from budget_holds h, a where h.call_key = a.key
     union select l.id from budget_windows l, a where l.budget_id = any (array(select g.id from budgets g, a where g.workspace_id = a.ws)) and l.window_end > a.at
     union select c.id from budget_windows c where c.cap_key = any ((select caps from a)::text[]) and c.workspace_id = (select ws from a)))
   order by b.period, b.id for update),
h as materialized (
  select h.window_id, h.amount, h.state from budget_holds h
   where h.call_key = (select key from a) and h.window_id = any (array(select id from w)) for update),
s as (
  update budget_holds x set state = 'settled', closed_at = clock_timestamp() from h, a
   where x.call_key = a.key and x.window_id = h.window_id and h.state <> 'settled'),
t as (
  select w.id, h.amount as held, case h.state when 'held' then h.amount else 0 end as given_back,
         case when w.budget_id is null then h.state is not null or w.cap_key = any (a.caps) else a.at >= w.window_start and a.at < w.window_end end as counts
    from w cross join a left join h on h.window_id = w.id where h.state is distinct from 'settled'),
u as (
  update budget_windows b set spent = b.spent + case when t.counts then round(a.cost * b.fx_rate, 9) else 0 end, reserved = b.reserved - t.given_back
    from t, a where b.id = t.id and (t.counts or t.given_back > 0)
  returning b.budget_id, b.budget_version, b.window_start, b.window_end, b.period, b.currency, b.limit_amount, b.spent, b.reserved, b.closed_at, b.fx_rate, t.held, case when t.counts then round(a.cost * b.fx_rate, 9) else 0 end as added),
p as (
  select u.*, g.alert_threshold_pct, case u.limit_amount when 0 then 100 else round(u.spent * 100 / u.limit_amount, 1) end as pct,
         u.spent * 100 >= u.limit_amount * g.alert_threshold_pct and (u.spent - u.added) * 100 < u.limit_amount * g.alert_threshold_pct as warns,
         u.spent >= u.limit_amount and u.spent - u.added < u.limit_amount as fills
    from u left join budgets g on g.id = u.budget_id where u.limit_amount is not null)
select p.budget_id, p.budget_version, p.window_start, p.window_end, p.period, p.currency, p.limit_amount::text as limit, p.spent::text as spent,
       p.reserved::text as reserved, p.pct::float8 as pct, p.pct::text as used_pct, p.alert_threshold_pct,
       coalesce(p.warns, false) as is_crossed, round(greatest(p.added - p.held, 0) / p.fx_rate, 9)::text as above_estimate,
       case when p.budget_id is null or p.closed_at is not null then null when p.fills then 'critical' when p.warns then 'warning' end as crossed
  from p order by p.pct desc, p.period`;

/**
 * Replaces a call's holds by its actual cost, in the windows in which it was reserved, closed or not; a hold that was released or has expired counts all
 * the same. Part of the transaction that writes the call's ledger row, after it and only if it was written; `shareLedger` comes before both. Returns the
 * windows with a limit to which the cost was added, the one with the least budget left first.
 */
export function settleHolds(
  tx: TenantTransaction,
  { callKey, workspaceId, cost, reservedAt, caps = [] }: SettledCost,
): Promise<SettledWindow[]> {
  return rows<SettledWindow>(tx.em, settleSql, [callKey, workspaceId, cost, reservedAt, [...caps]]);
}
