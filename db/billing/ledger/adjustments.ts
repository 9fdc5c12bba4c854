import { newId } from '../../ids.ts';
import { settleBudgets } from '../budgets/budget-crossing.ts';
import type { AdjustedPlace } from './adjusted-place.ts';
import { capsAbove } from '../budgets/cap-keys.ts';
import { shareLedger } from './ledger-lock.ts';
import { row } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import { addToRollup } from './rollups.ts';

/** An adjustment. `cost` is a signed decimal in the billing currency; `key` makes it unique. */
export interface Adjustment {
  readonly key: string;
  readonly cost: string;
  readonly currency: string;
  readonly at: Date;
}

/** Returns the adjustment of a key, or null. */
export async function findAdjustment(tx: TenantTransaction, workspaceId: string, key: string) {
  return row<{ id: string; cost: string; currency: string; runId: string | null; at: string }>(
    tx.em,
    `select id, cost::text as cost, currency, run_id as "runId", occurred_at as at from usage_entries where call_key = ? and kind = 'adjustment'`,
    [adjustmentKey(workspaceId, key)],
  );
}

/**
 * Writes an adjustment once per key: a ledger row of kind `adjustment`, with its cost in the windows that were valid at its time, closed or not, in those
 * of the caps above its run, and in its rollup. Returns null when the key already has one.
 */
export async function insertAdjustment(
  tx: TenantTransaction,
  place: AdjustedPlace,
  { key, cost, currency, at }: Adjustment,
): Promise<string | null> {
  const id = newId();
  await shareLedger(tx.em, place.workspaceId);
  const inserted = await row(
    tx.em,
    `insert into usage_entries (id, organization_id, workspace_id, occurred_at, created_at, call_key, source_kind, source_id, run_id, agent_id, agent_revision_id, user_id,
       service_key_id, kind, cost, currency, reserved_at, correlation_id)
     values (?, ?, ?, ?, clock_timestamp(), ?, 'adjustment', ?, ?, ?, ?, ?, ?, 'adjustment', ?, ?, ?, ?)
     on conflict (call_key, kind) do nothing returning id`,
    [
      id,
      place.organizationId,
      place.workspaceId,
      at,
      adjustmentKey(place.workspaceId, key),
      place.runId ?? place.workspaceId,
      place.runId,
      place.agentId,
      place.agentRevisionId,
      place.userId,
      place.serviceKeyId,
      cost,
      currency,
      at,
      tx.correlationId,
    ],
  );
  if (inserted === null) return null;
  const caps = place.runId === null ? [] : capsAbove({ id: place.runId, lineage: place.lineage, evaluation_run_id: place.evaluationRunId });
  await settleBudgets(tx, { callKey: adjustmentKey(place.workspaceId, key), workspaceId: place.workspaceId, cost, reservedAt: at, caps });
  await addToRollup(tx, id);
  return id;
}

function adjustmentKey(workspaceId: string, key: string): string {
  return `adjustment:${workspaceId}:${key}`;
}
