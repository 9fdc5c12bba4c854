import { taskQueues, workflowIds } from '../../workflows/contracts/queues.ts';
import { deliveriesCame, type GroupInput } from '../../workflows/contracts/triggers/webhooks.ts';
import { followedTime } from '../database-clock.ts';
import { addOutbox } from '../outbox.ts';
import { change, queueStatement, rows } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';
import { groupTables, type GroupKey, type GroupTable } from './group-queries.ts';
import type { DeliveryWarning } from './webhook-delivery.entity.ts';
import type { DeliveryPlace } from './write-deliveries.ts';

const lockSql = "pg_advisory_xact_lock(hashtextextended('webhook-key:' || ?::text || ':' || encode(?::bytea, 'hex'), 0))";

/** Locks the key, so that other transactions that start runs of it wait for the end of this one. Goes with the next statement. */
export function lockKey(tx: TenantTransaction, { ownerId, hash }: GroupKey): Promise<void> {
  return queueStatement(tx.em, `select ${lockSql}`, [ownerId, hash]);
}

/** Makes a group of the waiting items of a locked key, oldest first: at most `maxCount`, with at most `maxBytes` in all, but always the first. */
export function takeGroup(
  tx: TenantTransaction,
  { table, ownerId, hash }: GroupKey,
  { groupId, maxCount, maxBytes }: { readonly groupId: string; readonly maxCount: number; readonly maxBytes: number },
): Promise<number> {
  const { owner, state } = groupTables[table];
  return change(
    tx.em,
    `update ${table} d set group_id = ? from (
       select w.id, row_number() over (order by w.id) as n, sum(w.body_bytes) over (order by w.id) as bytes from ${table} w
        where w.${owner} = ? and w.coalesce_hash = ? and w.${state} = 'coalescing' and w.group_id is null) as taken
      where d.id = taken.id and (taken.n = 1 or (taken.n <= ? and taken.bytes <= ?))`,
    [groupId, ownerId, hash, maxCount, maxBytes],
  );
}

/** Locks the items of a group that have no outcome yet; returns the ids. */
export async function lockGroup(tx: TenantTransaction, table: GroupTable, groupId: string): Promise<string[]> {
  const locked = await rows<{ id: string }>(
    tx.em,
    `select d.id from ${table} d where d.group_id = ? and d.${groupTables[table].state} = 'coalescing' order by d.id for update`,
    [groupId],
  );
  return locked.map(({ id }) => id);
}

/** Stores the run of a locked group: items whose data it has become `started`, the others `merged`. The first of the started ones opens the next window. */
export async function storeGroupRun(
  tx: TenantTransaction,
  table: GroupTable,
  { ids, usedIds, runId }: Omit<GroupRun, 'warnings'>,
): Promise<void> {
  const { state } = groupTables[table];
  await change(
    tx.em,
    `update ${table} set ${state} = case when id = any (?::uuid[]) then 'started' else 'merged' end, run_id = ?,
       closed_at = case when id = ?::uuid then clock_timestamp() end where id = any (?::uuid[])`,
    [[...usedIds], runId, usedIds[0] ?? null, [...ids]],
  );
}

/** Adds the warnings from the start of a run to the deliveries whose data it has. Goes with the next statement. */
export async function warnOfGroup(tx: TenantTransaction, { usedIds, warnings }: Pick<GroupRun, 'usedIds' | 'warnings'>): Promise<void> {
  if (warnings.length === 0) return;
  await queueStatement(tx.em, 'update webhook_deliveries set warnings = warnings || ?::jsonb where id = any (?::uuid[])', [
    JSON.stringify(warnings),
    [...usedIds],
  ]);
}

/** A group and its run. */
export interface GroupRun {
  readonly ids: readonly string[];
  readonly usedIds: readonly string[];
  readonly runId: string;
  readonly warnings: readonly DeliveryWarning[];
}

/** Ends a locked group without a run; the digests of its deliveries are released. */
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

/** Drops the waiting items of an endpoint or event trigger, or of one of its keys, when they can lead to no run any more. */
export async function dropWaiting(tx: TenantTransaction, { table, ownerId, hash = null }: Waiting): Promise<void> {
  const { owner, state } = groupTables[table];
  await change(
    tx.em,
    `update ${table} set ${state} = 'dropped' where ${owner} = ? and ${state} = 'coalescing' and coalesce_hash = coalesce(?::bytea, coalesce_hash)`,
    [ownerId, hash],
  );
}

/** The waiting items of an owner; `hash` absent: under any key. */
type Waiting = Omit<GroupKey, 'hash'> & { readonly hash?: Buffer | null };

/**
 * Wakes the workflow that closes groups of a key, once per second and at the end of that second: a thousand deliveries within it cause one signal. The second
 * is that of the row's writing: the signal of an earlier second may have been sent before the rows that the workflow must see were there.
 */
export async function wakeGroup(
  tx: TenantTransaction,
  { id, organizationId, workspaceId }: DeliveryPlace,
  { table, hash }: { readonly table: GroupTable; readonly hash: Buffer },
) {
  const second = Math.floor(followedTime(tx.em).getTime() / 1_000);
  const key = hash.toString('hex');
  const workflowId = workflowIds.hook(id, key);
  const input: GroupInput = table === 'webhook_deliveries' ? { endpointId: id, key } : { triggerId: id, key };
  await addOutbox(
    tx,
    {
      kind: 'workflow.start',
      workflowType: 'closeGroups',
      workflowId,
      taskQueue: taskQueues.runs,
      args: [input],
      organizationId,
      workspaceId,
      correlationId: tx.correlationId,
      reuse: 'allow_duplicate',
      signal: deliveriesCame,
      priority: 3,
      searchAttributes: {},
    },
    { dedupeKey: `${workflowId}:${second}`, notBefore: new Date((second + 1) * 1_000) },
  );
}
