import { change, row, rows } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import { leaseS } from './lease.ts';

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

// All statements lock windows in the order (period, id), and windows before holds: any other order deadlocks with `reserve_call`. What is locked is named by
// values that are there before, never by a join or `in (select …)`: a row that another transaction has just changed is looked at once more, and such a
// condition may then find nothing and drop it.
const reserveSql = `select ok, full_at, stale, at from reserve_call(?, ?, ?, ?::text[], ?, ?, ${leaseS})`;

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

const windowsOfCall = `w as materialized (
  select b.id from budget_windows b where b.id = any (array(select h.window_id from budget_holds h, a where h.call_key = a.key)) order by b.period, b.id for update)`;

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

/**
 * Moves the lease of a call in flight on. It locks holds without their windows, against the order of all others, and so waits for nobody: what somebody else
 * has locked is being given back, or is renewed the next time. False: it renewed nothing.
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
