import { sql } from 'kysely';
import { clockTime } from '../../expressions.ts';
import { prepared, type ParametersOf } from '../../prepared.ts';
import { query } from '../../query.ts';
import { change, row } from '../../sql.ts';
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

interface Reserved {
  readonly ok: boolean;
  readonly fullAt: string | null;
  readonly stale: boolean;
  readonly at: string;
}

// All statements lock windows in the order (period, id), and windows before holds: any other order deadlocks with `reserve_call`. Rows to lock are named by
// values read beforehand, never by a join or `in (select …)`: PostgreSQL rechecks a row that another transaction has just changed, and such a condition may
// then find nothing and drop the row.
const reserving = prepared(({ callKey, organizationId, workspaceId, caps, estimate, isAllowed }: ParametersOf<Required<Reservation>>) =>
  query
    .selectFrom(
      sql<Reserved>`reserve_call(${callKey}, ${organizationId}, ${workspaceId}, ${caps}::text[], ${estimate}, ${isAllowed}, ${sql.lit(leaseS)})`.as(
        'r',
      ),
    )
    .select(['r.ok', 'r.fullAt', 'r.stale', 'r.at']),
);

/**
 * Holds the possible cost of a call in every window above it, or in none. One statement; limit and enforcement are those of the latest commit. Call it in a
 * transaction of its own. A call key that already holds an amount is `ok` again; one whose hold was released or has expired, and was not settled, holds
 * again.
 */
export async function reserve(
  tx: TenantTransaction,
  { callKey, organizationId, workspaceId, caps, estimate, isAllowed = false }: Reservation,
): Promise<ReserveResult> {
  const found = await row(tx.em, reserving({ callKey, organizationId, workspaceId, caps, estimate, isAllowed }));
  if (!found) throw new Error('a reservation gave no row');
  if (found.ok) return { outcome: 'ok', at: new Date(found.at) };
  if (found.stale) return { outcome: 'stale' };
  return found.fullAt === null ? { outcome: 'busy' } : { outcome: 'full', fullAt: found.fullAt };
}

const releasing = prepared(({ callKey }: ParametersOf<{ readonly callKey: string }>) =>
  query
    .with(
      (cte) => cte('w').materialized(),
      (of) =>
        of
          .selectFrom('budget_windows as b')
          .where(sql<boolean>`b.id = any (array(select h.window_id from budget_holds h where h.call_key = ${callKey}))`)
          .select('b.id')
          .orderBy('b.period')
          .orderBy('b.id')
          .forUpdate(),
    )
    .with('h', (of) =>
      of
        .updateTable('budget_holds')
        .set({ state: 'released', closedAt: clockTime })
        .where('callKey', '=', callKey)
        .where('state', '=', 'held')
        .where(sql<boolean>`window_id = any (array(select id from w))`)
        .returning(['windowId', 'amount']),
    )
    .updateTable('budget_windows')
    .from('h')
    .set(({ eb, ref }) => ({ reserved: eb('budget_windows.reserved', '-', ref('h.amount')) }))
    .whereRef('budget_windows.id', '=', 'h.windowId'),
);

/** Releases the holds of a call that never left, or cost nothing. */
export async function releaseHolds(tx: TenantTransaction, callKey: string): Promise<void> {
  await change(tx.em, releasing({ callKey }));
}

const renewing = prepared(({ callKey }: ParametersOf<{ readonly callKey: string }>) =>
  query
    .with(
      (cte) => cte('h').materialized(),
      (of) =>
        of
          .selectFrom('budget_holds')
          .where('callKey', '=', callKey)
          .where('state', '=', 'held')
          .select('windowId')
          .forUpdate()
          .skipLocked(),
    )
    .updateTable('budget_holds')
    .set({ leaseUntil: sql<string>`clock_timestamp() + make_interval(secs => ${sql.lit(leaseS)})` })
    .where('callKey', '=', callKey)
    .where(sql<boolean>`window_id = any (array(select window_id from h))`),
);

/**
 * Extends the lease of a call in flight. It locks holds without their windows, contrary to the order of all other statements, so it must not wait: it skips
 * holds that another transaction has locked, since they are being released, or will be renewed the next time. Returns false when it renewed nothing.
 */
export async function renewHolds(tx: TenantTransaction, callKey: string): Promise<boolean> {
  return (await change(tx.em, renewing({ callKey }))) > 0;
}
