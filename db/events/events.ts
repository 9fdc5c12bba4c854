import { sql, type SqlBool } from 'kysely';
import type { Condition } from '../condition.ts';
import { preparedList } from '../page-query.ts';
import type { PageRequest } from '../page.ts';
import { prepared, type ParametersOf } from '../prepared.ts';
import { query } from '../query.ts';
import { visibleTo, type Scoped } from '../scope.ts';
import { row } from '../sql.ts';
import { Event } from '../triggers/event.entity.ts';
import type { MatchOutcome } from './event-match.entity.ts';

/** An event as it is read, with its outcome for each trigger that has been judged. */
export type EventRow = Awaited<ReturnType<typeof listEventRows>>['items'][number];

export interface EventFilters {
  readonly kind?: string;
  /** A regular expression, where the kind is given as a glob. */
  readonly kindPattern?: string;
  readonly from?: string;
  readonly to?: string;
}

interface ListedMatch {
  readonly triggerId: string;
  readonly outcome: MatchOutcome;
  readonly runId: string | null;
  readonly errorCode: string | null;
}

const matches = sql<
  ListedMatch[]
>`coalesce((select jsonb_agg(jsonb_build_object('triggerId', m.trigger_id, 'outcome', m.outcome, 'runId', m.run_id,
    'errorCode', m.error_code) order by m.trigger_id) from event_matches m where m.event_id = e.id), '[]')`;

function selectEvents(visible: Condition) {
  return query
    .selectFrom('events as e')
    .where(visible)
    .select(['e.id', 'e.organizationId', 'e.workspaceId', 'e.eventKind', 'e.source', 'e.subject', 'e.payload', 'e.dedupeKey', 'e.depth'])
    .select(['e.rootEventId', 'e.causeRunId', 'e.fanOut', 'e.occurredAt', 'e.createdAt', matches.as('matches')]);
}

const oneEvent = prepared(({ eventId, visible }: ParametersOf<{ readonly eventId: string; readonly visible: Condition }>) =>
  selectEvents(visible).where('e.id', '=', eventId),
);

/** Returns one event that the caller sees, or null when there is none. */
export function readEvent(ctx: Scoped, eventId: string): Promise<EventRow | null> {
  return row(ctx.em, oneEvent({ eventId, visible: visibleTo(ctx, Event, 'e') }));
}

const eventList = preparedList(
  ({ kind, kindPattern, from, to, visible }: ParametersOf<EventFilters & { readonly visible: Condition }>) => {
    let events = selectEvents(visible);
    if (kind) events = events.where('e.eventKind', '=', kind);
    if (kindPattern) events = events.where(sql<SqlBool>`e.event_kind ~ ${kindPattern}`);
    if (from) events = events.where(sql<SqlBool>`e.created_at >= ${from}::timestamptz`);
    if (to) events = events.where(sql<SqlBool>`e.created_at < ${to}::timestamptz`);
    return events;
  },
  [{ column: 'e.id', type: 'uuid', descending: true }],
);

/** Returns the events that the caller sees, newest first. */
export function listEventRows(ctx: Scoped, filters: EventFilters, page: PageRequest) {
  return eventList(ctx.em, { ...filters, visible: visibleTo(ctx, Event, 'e') }, page);
}
