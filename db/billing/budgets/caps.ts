import { sql } from 'kysely';
import { clockTime } from '../../expressions.ts';
import { newId } from '../../ids.ts';
import { prepared, type ParametersOf } from '../../prepared.ts';
import { query } from '../../query.ts';
import { change } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import type { BudgetWindow } from './budget-window.entity.ts';
import { runCapKey } from './cap-keys.ts';

export interface CapDraft {
  readonly capKey: string;
  readonly organizationId: string;
  readonly workspaceId: string;
  /** Decimal in the billing currency. */
  readonly limit: string;
  readonly currency: string;
  /** Already spent when it opens; 0 unless given. */
  readonly spent?: string;
}

type CapColumns = Pick<BudgetWindow, 'id' | 'organizationId' | 'workspaceId' | 'capKey' | 'currency' | 'limitAmount' | 'spent'>;

const opening = prepared(({ caps }: ParametersOf<{ readonly caps: string }>) =>
  query
    .insertInto('budget_windows')
    .columns(['id', 'organizationId', 'workspaceId', 'period', 'capKey', 'windowStart', 'currency', 'limitAmount', 'isEnforced', 'spent'])
    .expression(
      query
        .selectFrom(
          sql<CapColumns>`jsonb_to_recordset(${caps}::jsonb)`.as<'c'>(
            sql`c (id uuid, organization_id uuid, workspace_id uuid, cap_key text, currency text, limit_amount numeric, spent numeric)`,
          ),
        )
        .select(['c.id', 'c.organizationId', 'c.workspaceId', sql.lit('cap').as('period'), 'c.capKey', clockTime.as('windowStart')])
        .select(['c.currency', 'c.limitAmount', sql.lit(true).as('isEnforced'), sql<string>`coalesce(c.spent, 0)`.as('spent')]),
    )
    .onConflict((conflict) => conflict.column('capKey').where('closedAt', 'is', null).doNothing()),
);

/** Opens enforced windows without a budget, which have no end. A cap that is already open stays as it is. */
export async function openCaps(tx: TenantTransaction, caps: readonly CapDraft[]): Promise<void> {
  if (caps.length === 0) return;
  const columns = caps.map(({ capKey, organizationId, workspaceId, limit, currency, spent }) => ({
    id: newId(),
    organization_id: organizationId,
    workspace_id: workspaceId,
    cap_key: capKey,
    currency,
    limit_amount: limit,
    spent,
  }));
  await change(tx.em, opening({ caps: JSON.stringify(columns) }));
}

interface CappedRun {
  readonly id: string;
  readonly limits: { readonly max_cost: string | null };
}

/** Closes the caps of runs that have ended; sends no statement when no run has one. Calls in flight still settle into them. */
export async function closeRunCaps(tx: TenantTransaction, runs: readonly CappedRun[]): Promise<void> {
  await closeCapKeys(
    tx,
    runs.filter(({ limits }) => limits.max_cost !== null).map(({ id }) => runCapKey(id)),
  );
}

/** Closes one cap if it is open. */
export function closeCap(tx: TenantTransaction, capKey: string): Promise<void> {
  return closeCapKeys(tx, [capKey]);
}

const closing = prepared(({ keys }: ParametersOf<{ readonly keys: readonly string[] }>) => {
  // Locks them in the order in which every reservation locks them.
  const locked = query
    .selectFrom('budget_windows as b')
    .where(sql<boolean>`b.cap_key = any (${keys}::text[])`)
    .where('b.closedAt', 'is', null)
    .select('b.id')
    .orderBy('b.period')
    .orderBy('b.id')
    .forUpdate();
  return query
    .updateTable('budget_windows')
    .set({ closedAt: clockTime })
    .where(sql<boolean>`budget_windows.id = any (array${locked})`);
});

async function closeCapKeys(tx: TenantTransaction, keys: readonly string[]): Promise<void> {
  if (keys.length === 0) return;
  await change(tx.em, closing({ keys }));
}
