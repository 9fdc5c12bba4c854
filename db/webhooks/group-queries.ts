import { row, rows } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';
import type { HookMethod } from './webhook-endpoint.entity.ts';

/** The tables of coalesced items, and the names of their columns: deliveries of endpoints, matches of event triggers. */
export const groupTables = {
  webhook_deliveries: { owner: 'endpoint_id', state: 'status', came: 'received_at' },
  event_matches: { owner: 'trigger_id', state: 'outcome', came: 'created_at' },
} as const;
export type GroupTable = keyof typeof groupTables;

/** One key of an endpoint or of an event trigger. */
export interface GroupKey {
  readonly table: GroupTable;
  readonly ownerId: string;
  /** SHA-256 of the key. */
  readonly hash: Buffer;
}

/** The waiting items of a key, by the database's clock. */
export interface WaitingGroup {
  readonly waiting: number;
  /** Each is null where nothing waits, or no run of the key has been started recently. */
  readonly sinceFirstMs: number | null;
  readonly sinceLastMs: number | null;
  readonly sinceStartMs: number | null;
  /** A group that was taken and has no outcome yet. */
  readonly takenGroupId: string | null;
}

/** A delivery whose data the templates see. */
export interface GroupedDelivery {
  readonly id: string;
  readonly method: HookMethod;
  readonly headers: Record<string, string>;
  readonly query: Record<string, string>;
  readonly body: Buffer | null;
  readonly occurredAt: string;
}

/** Whether a locked key has no waiting items and no run started within the window. */
export async function isWindowOpen(tx: TenantTransaction, { table, ownerId, hash }: GroupKey, windowSeconds: number): Promise<boolean> {
  const { owner, state } = groupTables[table];
  const found = await row<{ open: boolean }>(
    tx.em,
    `select not exists (select from ${table} where ${owner} = ? and coalesce_hash = ? and ${state} = 'coalescing')
        and not exists (select from ${table} where ${owner} = ? and coalesce_hash = ? and closed_at > clock_timestamp() - make_interval(secs => ?)) as open`,
    [ownerId, hash, ownerId, hash, windowSeconds],
  );
  return found?.open === true;
}

/** Returns what waits under a locked key. */
export async function readWaiting(tx: TenantTransaction, { table, ownerId, hash }: GroupKey): Promise<WaitingGroup> {
  const { owner, state, came } = groupTables[table];
  const since = (time: string) => `(extract(epoch from clock_timestamp() - ${time}) * 1000)::float8`;
  const found = await row<WaitingGroup>(
    tx.em,
    `select count(*) filter (where d.group_id is null)::int as waiting,
            ${since(`min(d.${came}) filter (where d.group_id is null)`)} as "sinceFirstMs",
            ${since(`max(d.${came}) filter (where d.group_id is null)`)} as "sinceLastMs",
            (select ${since('max(c.closed_at)')} from ${table} c where c.${owner} = ? and c.coalesce_hash = ? and c.closed_at is not null) as "sinceStartMs",
            (array_agg(d.group_id) filter (where d.group_id is not null))[1] as "takenGroupId"
       from ${table} d where d.${owner} = ? and d.coalesce_hash = ? and d.${state} = 'coalescing'`,
    [ownerId, hash, ownerId, hash],
  );
  return found ?? { waiting: 0, sinceFirstMs: null, sinceLastMs: null, sinceStartMs: null, takenGroupId: null };
}

/** Returns those deliveries of a group whose data count, by the time at which they happened, and the largest number of hooks that led to any of the group. */
export async function readGroup(
  tx: TenantTransaction,
  groupId: string,
  payload: 'first' | 'last' | 'all',
): Promise<{ readonly used: readonly GroupedDelivery[]; readonly hops: number }> {
  const order = payload === 'last' ? 'd.occurred_at desc, d.id desc' : 'd.occurred_at, d.id';
  const found = await rows<GroupedDelivery & { readonly hops: number }>(
    tx.em,
    `select d.id, d.method, d.headers, d.query, d.body, d.occurred_at as "occurredAt", max(d.hops) over () as hops from webhook_deliveries d
      where d.group_id = ? and d.status = 'coalescing' order by ${order} ${payload === 'all' ? '' : 'limit 1'}`,
    [groupId],
  );
  return { used: found, hops: found[0]?.hops ?? 0 };
}
