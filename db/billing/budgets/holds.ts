import { change, row, rows } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import { leaseS } from './lease.ts';

/** The maximum cost of a call and the windows that must cover it: the workspace's, and the caps above the call. */
export interface Reservation {
  readonly callKey: string;
  readonly organizationId: string;
  readonly workspaceId: string;
  /** Keys of the caps above the call, such as `run:<id>`; keys without a cap bound nothing. */
  readonly caps: readonly string[];
  /** Decimal in the billing currency. */
  readonly estimate: string;
  /** An admin has approved it: it is held and counted whatever the windows say. */
  readonly isAllowed?: boolean;
}

/**
 * `full`: spending leaves too little; `fullAt` is the period or cap. `busy`: only the holds of calls in flight are in the way. `stale`: a window has ended
 * or is missing; call `rollWindows` in a transaction of its own, then reserve again.
 */
export type ReserveResult =
  | { readonly outcome: 'ok'; readonly at: Date }
  | { readonly outcome: 'full'; readonly fullAt: string }
  | { readonly outcome: 'busy' }
  | { readonly outcome: 'stale' };

// All statements lock windows in the order (period, id), and windows before holds: any other order deadlocks with `reserve_call`. Rows to lock are named by
// values read beforehand, never by a join or `in (select …)`: PostgreSQL rechecks a row that another transaction has just changed, and such a condition may
// then find nothing and drop the row.
const reserveSql = `select ok, full_at, stale, at from reserve_call(?, ?, ?, ?::text[], ?, ?, ${leaseS})`;

/**
 * Holds the possible cost of a call in every window above it, or in none. One statement; limit and enforcement are those of the latest commit. Call it in a
 * transaction of its own. A call key that already holds an amount is `ok` again; one whose hold was released or has expired, and was not settled, holds
 * again.
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

const windowsOfCall = `w as materialized (
  select b.id from budget_windows b where b.id = any (array(select h.window_id from budget_holds h, a where h.call_key = a.key)) order by b.period, b.id for update)`;

/** Releases the holds of a call that never left, or cost nothing. */
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

/**
 * Extends the lease of a call in flight. It locks holds without their windows, contrary to the order of all other statements, so it must not wait: it skips
 * holds that another transaction has locked, since they are being released, or will be renewed the next time. Returns false when it renewed nothing.
 */
export async function renewHolds(tx: TenantTransaction, callKey: string): Promise<boolean> {
  const renewed = await change(
    tx.em,
    `with h as materialized (select window_id from budget_holds where call_key = ? and state = 'held' for update skip locked)
     update budget_holds set lease_until = clock_timestamp() + interval '${leaseS} seconds' where call_key = ? and window_id = any (array(select window_id from h))`,
    [callKey, callKey],
  );
  return renewed > 0;
}
