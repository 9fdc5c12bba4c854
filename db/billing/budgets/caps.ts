import { newId } from '../../ids.ts';
import { rows } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
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

/** Opens enforced windows without a budget, which have no end. A cap that is already open stays as it is. */
export async function openCaps(tx: TenantTransaction, caps: readonly CapDraft[]): Promise<void> {
  if (caps.length === 0) return;
  await rows(
    tx.em,
    `insert into budget_windows (id, organization_id, workspace_id, period, cap_key, window_start, currency, limit_amount, is_enforced, spent)
     select c.id, c."organizationId", c."workspaceId", 'cap', c."capKey", clock_timestamp(), c.currency, c."limit", true, coalesce(c.spent, 0)
       from jsonb_to_recordset(?::jsonb) as c(id uuid, "organizationId" uuid, "workspaceId" uuid, "capKey" text, currency text, "limit" numeric, spent numeric)
     on conflict (cap_key) where closed_at is null do nothing`,
    [JSON.stringify(caps.map((cap) => ({ id: newId(), ...cap })))],
  );
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

async function closeCapKeys(tx: TenantTransaction, keys: readonly string[]): Promise<void> {
  if (keys.length === 0) return;
  // Locks them in the order in which every reservation locks them.
  await rows(
    tx.em,
    `update budget_windows w set closed_at = clock_timestamp() where w.id = any (array(
       select b.id from budget_windows b where b.cap_key = any (?) and b.closed_at is null order by b.period, b.id for update))`,
    [[...keys]],
  );
}
