import { change, row, rows } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';

/** What a call may cost at most and which windows it needs room in: the workspace's, and the caps above it. */
export interface Reservation {
  readonly callKey: string;
  readonly organizationId: string;
  readonly workspaceId: string;
  /** Keys of the caps above the call, such as `run:<id>`; those that do not exist bound nothing. */
  readonly caps: readonly string[];
  /** Decimal in the billing currency. */
  readonly estimate: string;
  /** An admin has let it pass: it is held and counted, whatever the windows say. */
  readonly isAllowed?: boolean;
}

/**
 * `full`: what is spent leaves no room, `fullAt` is the period or cap. `busy`: only calls in flight take the room. `stale`: a window has ended
 * or is missing; in a transaction of its own `rollWindows`, then again.
 */
export type ReserveResult =
  | { readonly outcome: 'ok'; readonly at: Date }
  | { readonly outcome: 'full'; readonly fullAt: string }
  | { readonly outcome: 'busy' }
  | { readonly outcome: 'stale' };

/** A hold that is not renewed for so long is given up: three heartbeat timeouts. */
export const leaseS = 30;

// All statements lock windows in the order (period, id), and windows before holds: any other order deadlocks with this one. What is locked is named by
// values that are there before, never by a join or `in (select …)`: a row that another transaction has just changed is looked at once more, and such a
// condition may then find nothing and drop it.
const reserveSql = `
with a as (select ?::text as key, ?::uuid as org, ?::uuid as ws, ?::text[] as caps, ?::numeric as e, ?::boolean as passes),
w as materialized (
  select b.id, coalesce(b.cap_key, b.period) as name, b.spent, b.reserved, ceil((select e from a) * b.fx_rate * 1e9) / 1e9 as amt,
         case when b.is_enforced and not (select passes from a) then b.limit_amount end as cap, coalesce(b.window_end <= clock_timestamp(), false) as stale,
         exists (select from budget_holds h where (h.call_key, h.window_id, h.state) = ((select key from a), b.id, 'held')) as mine
    from budget_windows b
   where b.workspace_id = (select ws from a) and b.closed_at is null and (b.cap_key is null or b.cap_key = any ((select caps from a)::text[]))
   order by b.period, b.id for update),
v as (
  select coalesce(bool_and(mine or cap is null or spent + reserved + amt <= cap), true) as fits,
         min(name) filter (where not mine and spent + amt > cap) as full_at,
         coalesce(bool_or(stale), false)
         or count(*) filter (where name in ('day', 'month')) < (select count(*) from budgets g where g.workspace_id = (select ws from a)) as stale
    from w),
h as (
  insert into budget_holds (call_key, window_id, organization_id, workspace_id, amount, lease_until)
  select a.key, w.id, a.org, a.ws, w.amt, clock_timestamp() + interval '${leaseS} seconds' from w, v, a where v.fits and not v.stale
  on conflict (call_key, window_id) do update set state = 'held', amount = excluded.amount, lease_until = excluded.lease_until, closed_at = null
     where budget_holds.state in ('released', 'expired')
  returning window_id, amount),
u as (update budget_windows b set reserved = b.reserved + h.amount from h where b.id = h.window_id returning b.id)
select fits and not stale as ok, full_at, stale, clock_timestamp() as at from v`;

/**
 * Holds what a call may cost in every window above it, or in none. One statement; limit and enforcement are those of the newest commit. Call
 * it in a transaction of its own. A call key that holds already is `ok` again; one that has given up what it held, and was not settled, holds anew.
 */
export async function reserve(tx: TenantTransaction, wanted: Reservation): Promise<ReserveResult> {
  const found = await row<{ ok: boolean; full_at: string | null; stale: boolean; at: string }>(tx.em, reserveSql, [
    wanted.callKey,
    wanted.organizationId,
    wanted.workspaceId,
    [...wanted.caps],
    wanted.estimate,
    wanted.isAllowed ?? false,
  ]);
  if (!found) throw new Error('a reservation gave no row');
  if (found.ok) return { outcome: 'ok', at: new Date(found.at) };
  if (found.stale) return { outcome: 'stale' };
  return found.full_at === null ? { outcome: 'busy' } : { outcome: 'full', fullAt: found.full_at };
}

/** The window with the least room left, as a settled call leaves it. Decimals in the window's currency, `pct` of the limit. */
export interface BudgetState {
  readonly period: string;
  readonly limit: string;
  readonly spent: string;
  readonly reserved: string;
  readonly pct: number;
  /** This call took it over its alert threshold. */
  readonly is_crossed: boolean;
}

const windowsOfCall = `w as materialized (
  select b.id from budget_windows b where b.id = any (array(select h.window_id from budget_holds h, a where h.call_key = a.key)) order by b.period, b.id for update)`;

const settleSql = `
with a as (select ?::text as key, ?::numeric as cost),
${windowsOfCall},
h as materialized (
  select h.window_id, h.amount, h.state from budget_holds h
   where h.call_key = (select key from a) and h.state <> 'settled' and h.window_id = any (array(select id from w)) for update),
s as (update budget_holds x set state = 'settled', closed_at = clock_timestamp() from h, a where x.call_key = a.key and x.window_id = h.window_id),
u as (
  update budget_windows b set spent = b.spent + round(a.cost * b.fx_rate, 9), reserved = b.reserved - case h.state when 'held' then h.amount else 0 end
    from h, a where b.id = h.window_id returning b.budget_id, b.period, b.limit_amount, b.spent, b.reserved, round(a.cost * b.fx_rate, 9) as added),
p as (select u.*, case u.limit_amount when 0 then 100 else round(u.spent * 100 / u.limit_amount, 1) end as pct from u where u.limit_amount is not null)
select p.period, p.limit_amount::text as limit, p.spent::text as spent, p.reserved::text as reserved, p.pct::float8 as pct,
       coalesce(p.spent * 100 >= p.limit_amount * g.alert_threshold_pct and (p.spent - p.added) * 100 < p.limit_amount * g.alert_threshold_pct, false) as is_crossed
  from p left join budgets g on g.id = p.budget_id order by p.pct desc, p.period limit 1`;

/**
 * What a call did cost takes the place of what it held, in the windows in which it was reserved, closed or not; a hold that was released or
 * has expired counts all the same. Part of the transaction that writes the call's ledger row, and only if that wrote it. Null: nothing is limited.
 */
export function settleHolds(tx: TenantTransaction, callKey: string, cost: string): Promise<BudgetState | null> {
  return row<BudgetState>(tx.em, settleSql, [callKey, cost]);
}

/** Gives back what a call holds that never left, or cost nothing. */
export async function releaseHolds(tx: TenantTransaction, callKey: string): Promise<void> {
  await rows(
    tx.em,
    `with a as (select ?::text as key),
     ${windowsOfCall},
     h as (
       update budget_holds x set state = 'released', closed_at = clock_timestamp()
        where x.call_key = (select key from a) and x.state = 'held' and x.window_id = any (array(select id from w)) returning x.window_id, x.amount)
     update budget_windows b set reserved = b.reserved - h.amount from h where b.id = h.window_id`,
    [callKey],
  );
}

/** Moves the lease of a call in flight on. False: it holds nothing any more. */
export async function renewHolds(tx: TenantTransaction, callKey: string): Promise<boolean> {
  const renewed = await change(
    tx.em,
    `update budget_holds set lease_until = clock_timestamp() + interval '${leaseS} seconds' where call_key = ? and state = 'held'`,
    [callKey],
  );
  return renewed > 0;
}
