import { taskQueues, workflowIds } from '../../workflows/contracts/queues.ts';
import { deliveriesCame } from '../../workflows/contracts/webhooks.ts';
import { addOutbox } from '../outbox.ts';
import { change, queueStatement, rows } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';
import type { GroupKey } from './group-queries.ts';
import type { DeliveryWarning } from './webhook-delivery.entity.ts';
import type { DeliveryPlace } from './write-deliveries.ts';

const lockSql = "pg_advisory_xact_lock(hashtextextended('webhook-key:' || ?::text || ':' || encode(?::bytea, 'hex'), 0))";

/** Has whoever else starts runs of the key wait for the end of this transaction. Goes with the next statement. */
export function lockKey(tx: TenantTransaction, { endpointId, hash }: GroupKey): Promise<void> {
  return queueStatement(tx.em, `select ${lockSql}`, [endpointId, hash]);
}

/** Makes a group of what waits of a locked key, the oldest first: at most so many, with at most so many bytes beside the first. */
export function takeGroup(
  tx: TenantTransaction,
  { endpointId, hash }: GroupKey,
  { groupId, maxCount, maxBytes }: { readonly groupId: string; readonly maxCount: number; readonly maxBytes: number },
): Promise<number> {
  return change(
    tx.em,
    `update webhook_deliveries d set group_id = ? from (
       select w.id, row_number() over (order by w.id) as n, sum(w.body_bytes) over (order by w.id) as bytes from webhook_deliveries w
        where w.endpoint_id = ? and w.coalesce_hash = ? and w.status = 'coalescing' and w.group_id is null) as taken
      where d.id = taken.id and (taken.n = 1 or (taken.n <= ? and taken.bytes <= ?))`,
    [groupId, endpointId, hash, maxCount, maxBytes],
  );
}

/** Locks what of a group has no outcome yet; gives the ids. */
export async function lockGroup(tx: TenantTransaction, groupId: string): Promise<string[]> {
  const locked = await rows<{ id: string }>(
    tx.em,
    "select d.id from webhook_deliveries d where d.group_id = ? and d.status = 'coalescing' order by d.id for update",
    [groupId],
  );
  return locked.map(({ id }) => id);
}

/** Gives a locked group its run: those whose data it has are started, the others merged. The first of them opens the next window. */
export async function storeGroupRun(tx: TenantTransaction, { ids, usedIds, runId, warnings }: GroupRun): Promise<void> {
  await change(
    tx.em,
    `update webhook_deliveries set status = case when id = any (?::uuid[]) then 'started' else 'merged' end, run_id = ?,
       closed_at = case when id = ?::uuid then clock_timestamp() end, warnings = case when id = any (?::uuid[]) then warnings || ?::jsonb else warnings end
      where id = any (?::uuid[])`,
    [[...usedIds], runId, usedIds[0] ?? null, [...usedIds], JSON.stringify(warnings), [...ids]],
  );
}

/** A group and its run. */
export interface GroupRun {
  readonly ids: readonly string[];
  readonly usedIds: readonly string[];
  readonly runId: string;
  readonly warnings: readonly DeliveryWarning[];
}

/** Ends a locked group without a run; what its deliveries are known by is free again. */
export async function storeGroupFailure(
  tx: TenantTransaction,
  endpointId: string,
  { ids, error }: { readonly ids: readonly string[]; readonly error: { readonly code: string; readonly reason: string | null } },
): Promise<void> {
  await change(tx.em, "update webhook_deliveries set status = 'failed', error_code = ?, error_reason = ? where id = any (?::uuid[])", [
    error.code,
    error.reason,
    [...ids],
  ]);
  await change(tx.em, 'delete from delivery_keys where endpoint_id = ? and delivery_id = any (?::uuid[])', [endpointId, [...ids]]);
}

/** Drops what waits of an endpoint, or of one key of it, since nothing becomes of it any more. */
export async function dropWaiting(tx: TenantTransaction, endpointId: string, hash: Buffer | null = null): Promise<void> {
  await change(
    tx.em,
    "update webhook_deliveries set status = 'dropped' where endpoint_id = ? and status = 'coalescing' and coalesce_hash = coalesce(?::bytea, coalesce_hash)",
    [endpointId, hash],
  );
}

/** Wakes the workflow that closes groups of a key, once a second of `at` and when that second is over: of a thousand deliveries in it one signal leaves. */
export async function wakeGroup(
  tx: TenantTransaction,
  endpoint: DeliveryPlace,
  { hash, at }: { readonly hash: Buffer; readonly at: Date },
) {
  const second = Math.floor(at.getTime() / 1_000);
  const key = hash.toString('hex');
  const workflowId = workflowIds.hook(endpoint.id, key);
  await addOutbox(
    tx,
    {
      kind: 'workflow.start',
      workflowType: 'closeGroups',
      workflowId,
      taskQueue: taskQueues.runs,
      args: [{ endpointId: endpoint.id, key }],
      organizationId: endpoint.organizationId,
      workspaceId: endpoint.workspaceId,
      correlationId: tx.correlationId,
      reuse: 'allow_duplicate',
      signal: deliveriesCame,
      priority: 3,
      searchAttributes: {},
    },
    { dedupeKey: `${workflowId}:${second}`, notBefore: new Date((second + 1) * 1_000) },
  );
}
