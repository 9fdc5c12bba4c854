import { newId } from '../../ids.ts';
import { settleBudgets } from '../budgets/budget-crossing.ts';
import type { AdjustedPlace } from './adjusted-place.ts';
import { capsAbove } from '../budgets/cap-keys.ts';
import { shareLedger } from './ledger-lock.ts';
import { row } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import { addToRollup } from './rollups.ts';

/** A correction. `cost` is a decimal with its sign in the billing currency; `key` makes it one. */
export interface Adjustment {
  readonly key: string;
  readonly cost: string;
  readonly currency: string;
  readonly at: Date;
}

/** The correction that a key stands for; null: none yet. */
export async function findAdjustment(tx: TenantTransaction, workspaceId: string, key: string) {
  return row<{ id: string; cost: string; currency: string; runId: string | null; at: string }>(
    tx.em,
    `select id, cost::text as cost, currency, run_id as "runId", occurred_at as at from usage_entries where call_key = ? and kind = 'adjustment'`,
    [adjustmentKey(workspaceId, key)],
  );
}

/**
 * Writes a correction once a key: a ledger row of kind `adjustment`, and its cost in the windows that held at its time, closed or not, in those of the caps
 * above its run, and in its rollup. Null where the key has one already.
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
