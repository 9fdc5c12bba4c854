import { sql } from 'kysely';
import { newId } from '../../ids.ts';
import { settleBudgets } from '../budgets/budget-crossing.ts';
import type { AdjustedPlace } from './adjusted-place.ts';
import { capsAbove } from '../budgets/cap-keys.ts';
import { shareLedger } from './ledger-lock.ts';
import { query } from '../../query.ts';
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
export function findAdjustment(tx: TenantTransaction, workspaceId: string, key: string) {
  return row(
    tx.em,
    query
      .selectFrom('usage_entries')
      .where('callKey', '=', adjustmentKey(workspaceId, key))
      .where('kind', '=', 'adjustment')
      .select(['id', 'cost', 'currency', 'runId', 'occurredAt as at']),
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
    query
      .insertInto('usage_entries')
      .values({
        id,
        organizationId: place.organizationId,
        workspaceId: place.workspaceId,
        occurredAt: at,
        createdAt: sql<string>`clock_timestamp()`,
        callKey: adjustmentKey(place.workspaceId, key),
        sourceKind: 'adjustment',
        sourceId: place.runId ?? place.workspaceId,
        runId: place.runId,
        agentId: place.agentId,
        agentRevisionId: place.agentRevisionId,
        userId: place.userId,
        serviceKeyId: place.serviceKeyId,
        kind: 'adjustment',
        cost,
        currency,
        reservedAt: at,
        correlationId: tx.correlationId,
      })
      .onConflict((conflict) => conflict.columns(['callKey', 'kind']).doNothing())
      .returning('id'),
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
