import { sql } from 'kysely';
import { taskQueues, workflowIds } from '../../workflows/contracts/queues.ts';
import { deliveriesCame, type GroupInput } from '../../workflows/contracts/triggers/webhooks.ts';
import { followedTime } from '../database-clock.ts';
import { addOutbox } from '../outbox.ts';
import { prepared, type ParametersOf } from '../prepared.ts';
import { query } from '../query.ts';
import { change, queueStatement, rows } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';
import {
  argumentsOf,
  coalescing,
  flagOf,
  groupTables,
  itemsOf,
  tableOf,
  type GroupKey,
  type GroupTable,
  type KeyArguments,
  type TableFlag,
} from './group-queries.ts';
import type { DeliveryWarning } from './webhook-delivery.entity.ts';
import type { DeliveryPlace } from './write-deliveries.ts';

const locking = prepared(({ ownerId, hash }: ParametersOf<Omit<KeyArguments, 'ofMatches'>>) =>
  query.selectNoFrom(
    sql<unknown>`pg_advisory_xact_lock(hashtextextended('webhook-key:' || ${ownerId}::text || ':' || encode(${hash}::bytea, 'hex'), 0))`.as(
      'lock',
    ),
  ),
);

/** Locks the key, so that other transactions that start runs of it wait for the end of this one. Goes with the next statement. */
export function lockKey(tx: TenantTransaction, { ownerId, hash }: GroupKey): Promise<void> {
  return queueStatement(tx.em, locking({ ownerId, hash }));
}

interface NewGroup {
  readonly groupId: string;
  readonly maxCount: number;
  readonly maxBytes: number;
}

const taking = prepared(({ groupId, maxCount, maxBytes, ...key }: ParametersOf<NewGroup & KeyArguments>) => {
  const table = tableOf(key);
  const waiting = itemsOf(key)
    .where(groupTables[table].state, '=', coalescing)
    .where('groupId', 'is', null)
    .select(['id', sql<number>`row_number() over (order by id)`.as('n'), sql<number>`sum(body_bytes) over (order by id)`.as('bytes')]);
  return query
    .updateTable(table)
    .from(waiting.as('taken'))
    .set({ groupId })
    .whereRef(`${table}.id`, '=', 'taken.id')
    .where(({ and, eb, or }) => or([eb('taken.n', '=', 1), and([eb('taken.n', '<=', maxCount), eb('taken.bytes', '<=', maxBytes)])]));
});

/** Makes a group of the waiting items of a locked key, oldest first: at most `maxCount`, with at most `maxBytes` in all, but always the first. */
export function takeGroup(tx: TenantTransaction, key: GroupKey, { groupId, maxCount, maxBytes }: NewGroup): Promise<number> {
  return change(tx.em, taking({ ...argumentsOf(key), groupId, maxCount, maxBytes }));
}

const waitingOfGroup = prepared(({ groupId, ...flag }: ParametersOf<TableFlag & { readonly groupId: string }>) => {
  const table = tableOf(flag);
  return query
    .selectFrom(table)
    .where('groupId', '=', groupId)
    .where(groupTables[table].state, '=', coalescing)
    .select('id')
    .orderBy('id')
    .forUpdate();
});

/** Locks the items of a group that have no outcome yet; returns the ids. */
export async function lockGroup(tx: TenantTransaction, table: GroupTable, groupId: string): Promise<string[]> {
  const locked = await rows(tx.em, waitingOfGroup({ ...flagOf(table), groupId }));
  return locked.map(({ id }) => id);
}

interface StartedGroup extends TableFlag {
  readonly ids: readonly string[];
  readonly usedIds: readonly string[];
  readonly firstId: string | null;
  readonly runId: string;
}

const storingRun = prepared(({ ids, usedIds, firstId, runId, ...flag }: ParametersOf<StartedGroup>) => {
  const table = tableOf(flag);
  return query
    .updateTable(table)
    .set(groupTables[table].state, sql<'started' | 'merged'>`case when id = any (${usedIds}::uuid[]) then 'started' else 'merged' end`)
    .set({ runId, closedAt: sql<string | null>`case when id = ${firstId}::uuid then clock_timestamp() end` })
    .where(sql<boolean>`id = any (${ids}::uuid[])`);
});

/** Stores the run of a locked group: items whose data it has become `started`, the others `merged`. The first of the started ones opens the next window. */
export async function storeGroupRun(
  tx: TenantTransaction,
  table: GroupTable,
  { ids, usedIds, runId }: Omit<GroupRun, 'warnings'>,
): Promise<void> {
  await change(tx.em, storingRun({ ...flagOf(table), ids, usedIds, firstId: usedIds[0] ?? null, runId }));
}

const addingWarnings = prepared(({ ids, warnings }: ParametersOf<{ readonly ids: readonly string[]; readonly warnings: string }>) =>
  query
    .updateTable('webhook_deliveries')
    .set(({ ref }) => ({ warnings: sql<DeliveryWarning[]>`${ref('warnings')} || ${warnings}::jsonb` }))
    .where(sql<boolean>`id = any (${ids}::uuid[])`),
);

/** Adds the warnings from the start of a run to the deliveries whose data it has. Goes with the next statement. */
export async function warnOfGroup(tx: TenantTransaction, { usedIds, warnings }: Pick<GroupRun, 'usedIds' | 'warnings'>): Promise<void> {
  if (warnings.length === 0) return;
  await queueStatement(tx.em, addingWarnings({ ids: usedIds, warnings: JSON.stringify(warnings) }));
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
  await change(
    tx.em,
    query
      .updateTable('webhook_deliveries')
      .set({ status: 'failed', errorCode: error.code, errorReason: error.reason })
      .where(sql<boolean>`id = any (${ids}::uuid[])`),
  );
  await change(
    tx.em,
    query
      .deleteFrom('delivery_keys')
      .where('endpointId', '=', endpointId)
      .where(sql<boolean>`delivery_id = any (${ids}::uuid[])`),
  );
}

/** Drops the waiting items of an endpoint or event trigger, or of one of its keys, when they can lead to no run any more. */
export async function dropWaiting(tx: TenantTransaction, { table, ownerId, hash = null }: Waiting): Promise<void> {
  const { owner, state } = groupTables[table];
  await change(
    tx.em,
    query
      .updateTable(table)
      .set(state, 'dropped')
      .where(owner, '=', ownerId)
      .where(state, '=', coalescing)
      .where(sql<boolean>`coalesce_hash = coalesce(${hash}::bytea, coalesce_hash)`),
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
