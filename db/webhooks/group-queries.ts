import { sql, type Expression } from 'kysely';
import { prepared, type ParametersOf } from '../prepared.ts';
import { query } from '../query.ts';
import { row, rows } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';

/** The tables of coalesced items, and the names of their columns: deliveries of endpoints, matches of event triggers. */
export const groupTables = {
  webhook_deliveries: { owner: 'endpointId', state: 'status', came: 'receivedAt' },
  event_matches: { owner: 'triggerId', state: 'outcome', came: 'createdAt' },
} as const;
export type GroupTable = keyof typeof groupTables;

/** The state of items that wait; in the text, so that the partial indexes of waiting items serve. */
export const coalescing = sql.lit('coalescing' as const);

/** One key of an endpoint or of an event trigger. */
export interface GroupKey {
  readonly table: GroupTable;
  readonly ownerId: string;
  /** SHA-256 of the key. */
  readonly hash: Buffer;
}

/** The table as a flag of a prepared query, see `tableOf`. */
export interface TableFlag {
  readonly ofMatches?: true | undefined;
}

/** A key as prepared queries take it. */
export interface KeyArguments extends TableFlag {
  readonly ownerId: string;
  readonly hash: Buffer;
}

/** Returns the flag of a table. */
export function flagOf(table: GroupTable): TableFlag {
  return { ofMatches: table === 'event_matches' || undefined };
}

/** Returns a key for a prepared query. */
export function argumentsOf({ table, ownerId, hash }: GroupKey): KeyArguments {
  return { ...flagOf(table), ownerId, hash };
}

/** Returns the table of a prepared query. */
export function tableOf({ ofMatches }: ParametersOf<TableFlag>): GroupTable {
  return ofMatches ? 'event_matches' : 'webhook_deliveries';
}

/** A query of all items of a key. */
export function itemsOf(key: ParametersOf<KeyArguments>) {
  const table = tableOf(key);
  return query.selectFrom(table).where(groupTables[table].owner, '=', key.ownerId).where('coalesceHash', '=', key.hash);
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

const openWindow = prepared(({ windowSeconds, ...key }: ParametersOf<KeyArguments & { readonly windowSeconds: number }>) => {
  const items = itemsOf(key).select('id');
  const waiting = items.where(groupTables[tableOf(key)].state, '=', coalescing);
  const started = items.where('closedAt', '>', sql<string>`clock_timestamp() - make_interval(secs => ${windowSeconds})`);
  return query.selectNoFrom(({ and, exists, not }) => and([not(exists(waiting)), not(exists(started))]).as('isOpen'));
});

/** Whether a locked key has no waiting items and no run started within the window. */
export async function isWindowOpen(tx: TenantTransaction, key: GroupKey, windowSeconds: number): Promise<boolean> {
  const found = await row(tx.em, openWindow({ ...argumentsOf(key), windowSeconds }));
  return found?.isOpen === true;
}

/** Milliseconds since a time. */
function msSince(time: Expression<string | null>) {
  return sql<number | null>`(extract(epoch from clock_timestamp() - ${time}) * 1000)::float8`;
}

const waitingGroup = prepared((key: ParametersOf<KeyArguments>) => {
  const { state, came } = groupTables[tableOf(key)];
  const lastStart = itemsOf(key)
    .where('closedAt', 'is not', null)
    .select(({ fn }) => msSince(fn.max('closedAt')).as('ms'));
  return itemsOf(key)
    .where(state, '=', coalescing)
    .select(({ fn }) => [
      sql<number>`count(*) filter (where group_id is null)::int`.as('waiting'),
      msSince(fn.min(came).filterWhere('groupId', 'is', null)).as('sinceFirstMs'),
      msSince(fn.max(came).filterWhere('groupId', 'is', null)).as('sinceLastMs'),
      lastStart.as('sinceStartMs'),
      sql<string | null>`(array_agg(group_id) filter (where group_id is not null))[1]`.as('takenGroupId'),
    ]);
});

/** Returns what waits under a locked key. */
export async function readWaiting(tx: TenantTransaction, key: GroupKey): Promise<WaitingGroup> {
  const found = await row(tx.em, waitingGroup(argumentsOf(key)));
  return found ?? { waiting: 0, sinceFirstMs: null, sinceLastMs: null, sinceStartMs: null, takenGroupId: null };
}

interface GroupOrder {
  readonly groupId: string;
  /** Each is true or undefined: a prepared query only sees which are present. */
  readonly newestFirst?: true | undefined;
  readonly onlyFirst?: true | undefined;
}

const deliveriesOfGroup = prepared(({ groupId, newestFirst, onlyFirst }: ParametersOf<GroupOrder>) => {
  const direction = newestFirst ? 'desc' : 'asc';
  const deliveries = query
    .selectFrom('webhook_deliveries as d')
    .where('d.groupId', '=', groupId)
    .where('d.status', '=', coalescing)
    .select(['d.id', 'd.method', 'd.headers', 'd.query', 'd.body', 'd.occurredAt', sql<number>`max(d.hops) over ()`.as('hops')])
    .orderBy('d.occurredAt', direction)
    .orderBy('d.id', direction);
  return onlyFirst ? deliveries.limit(sql.lit(1)) : deliveries;
});

/** A delivery whose data the templates see. */
export type GroupedDelivery = Awaited<ReturnType<typeof readGroup>>['used'][number];

/** Returns those deliveries of a group whose data count, by the time at which they happened, and the largest number of hooks that led to any of the group. */
export async function readGroup(tx: TenantTransaction, groupId: string, payload: 'first' | 'last' | 'all') {
  const order = { newestFirst: payload === 'last' || undefined, onlyFirst: payload !== 'all' || undefined };
  const found = await rows(tx.em, deliveriesOfGroup({ groupId, ...order }));
  return { used: found, hops: found[0]?.hops ?? 0 };
}
