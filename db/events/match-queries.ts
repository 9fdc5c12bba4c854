import { type Selectable, sql } from 'kysely';
import { prepared, type ParametersOf } from '../prepared.ts';
import { query } from '../query.ts';
import { row, rows } from '../sql.ts';
import type { Tables } from '../table-types.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';
import { meetsGlob } from '../triggers/events.ts';

const eventColumns = [
  'id',
  'organizationId',
  'workspaceId',
  'eventKind',
  'source',
  'subject',
  'payload',
  'depth',
  'rootEventId',
  'causeRunId',
  'untrusted',
  'maxEffect',
  'hops',
] as const;

const triggerColumns = [
  'id',
  'organizationId',
  'workspaceId',
  'agentId',
  'name',
  'filter',
  'promptTemplate',
  'inputTemplate',
  'sessionKeyTemplate',
  'personaSlugTemplate',
  'subjectTemplate',
  'coalescing',
  'maxDepth',
  'version',
] as const;

/** An event as filters and templates see it; `occurredAt` is ISO 8601. */
export type StoredEvent = Pick<Selectable<Tables['events']>, (typeof eventColumns)[number] | 'occurredAt'>;

/** What an event passes on to the runs that it starts; for a group, the longest chain and the least trust. */
export type EventCause = Pick<StoredEvent, 'depth' | 'rootEventId' | 'untrusted' | 'maxEffect' | 'hops'>;

/** An active trigger as events use it to start runs. */
export type LiveTrigger = NonNullable<Awaited<ReturnType<typeof readLiveTrigger>>>;

/** An event whose fan-out is pending, its active triggers that have not been judged, and the database's time. */
export type PendingEvent = NonNullable<Awaited<ReturnType<typeof readFanOut>>>;

/** A match of a group, with its event. */
export type GroupedEvent = Awaited<ReturnType<typeof readMatches>>[number];

/** The pairs of `jsonb_build_object`, whose keys are properties. */
function pairsOf(alias: string, names: readonly string[]) {
  return sql.join(names.flatMap((name) => [sql.lit(name), sql.ref(`${alias}.${name}`)]));
}

/** An event `e`. */
const eventJson = sql<StoredEvent>`jsonb_build_object(${pairsOf('e', eventColumns)},
  'occurredAt', to_char(e.occurred_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))`;

function liveTriggers() {
  return query.selectFrom('event_triggers as t').where('t.isActive', '=', sql.lit(true)).where('t.deletedAt', 'is', null);
}

const fanOut = prepared(({ eventId }: ParametersOf<{ readonly eventId: string }>) =>
  query
    .selectFrom('events as e')
    .where('e.id', '=', eventId)
    .where('e.fanOut', '=', sql.lit('pending' as const))
    .select(({ not, exists, ref, selectFrom }) => [
      eventJson.as('event'),
      sql<string>`clock_timestamp()`.as('now'),
      sql<LiveTrigger[]>`coalesce(${liveTriggers()
        .whereRef('t.workspaceId', '=', ref('e.workspaceId'))
        .where(meetsGlob(ref('e.eventKind'), sql.ref('t.eventKind')))
        .where(
          not(
            exists(selectFrom('event_matches as m').whereRef('m.eventId', '=', 'e.id').where('m.triggerId', '=', sql.ref<string>('t.id'))),
          ),
        )
        .select(sql`jsonb_agg(jsonb_build_object(${pairsOf('t', triggerColumns)}) order by t.id)`.as('triggers'))}, '[]')`.as('triggers'),
    ]),
);

/** Returns an event whose fan-out is pending, and the active triggers of its kind that have not been judged, in one query; null when nothing is pending. */
export function readFanOut(tx: TenantTransaction, eventId: string) {
  return row(tx.em, fanOut({ eventId }));
}

const liveTrigger = prepared(({ triggerId }: ParametersOf<{ readonly triggerId: string }>) =>
  liveTriggers()
    .where('t.id', '=', triggerId)
    .select(triggerColumns.map((name) => `t.${name}` as const)),
);

/** Returns a trigger that accepts events now, or null when it accepts none. */
export function readLiveTrigger(tx: TenantTransaction, triggerId: string) {
  return row(tx.em, liveTrigger({ triggerId }));
}

/** What the members of a group that wait pass on together. */
function causeOf(groupId: string) {
  return query
    .selectFrom('event_matches as n')
    .innerJoin('events as x', 'x.id', 'n.eventId')
    .where('n.groupId', '=', groupId)
    .where('n.outcome', '=', sql.lit('coalescing' as const))
    .select(
      sql<EventCause>`jsonb_build_object('rootEventId', (array_agg(x.root_event_id order by x.depth desc, x.id))[1], 'depth', max(x.depth),
        'untrusted', bool_or(x.untrusted), 'maxEffect', case when bool_or(x.max_effect = 'read') then 'read' else 'write' end, 'hops', max(x.hops))`.as(
        'cause',
      ),
    );
}

function readMatches(tx: TenantTransaction, groupId: string, payload: 'first' | 'last' | 'all') {
  const direction = payload === 'last' ? 'desc' : 'asc';
  const matches = query
    .selectFrom('event_matches as m')
    .innerJoin('events as e', 'e.id', 'm.eventId')
    .innerJoin(causeOf(groupId).as('c'), (join) => join.onTrue())
    .where('m.groupId', '=', groupId)
    .where('m.outcome', '=', sql.lit('coalescing' as const))
    .select(['m.id as matchId', eventJson.as('event'), 'c.cause'])
    .orderBy('m.occurredAt', direction)
    .orderBy('m.id', direction);
  return rows(tx.em, payload === 'all' ? matches : matches.limit(1));
}

/** Returns the events of a group whose data count, by the time at which they happened, and what the group as a whole passes on to its run. */
export async function readEventGroup(
  tx: TenantTransaction,
  groupId: string,
  payload: 'first' | 'last' | 'all',
): Promise<{ readonly used: readonly GroupedEvent[]; readonly cause: EventCause } | null> {
  const found = await readMatches(tx, groupId, payload);
  const [first] = found;
  return first ? { used: found, cause: first.cause } : null;
}
