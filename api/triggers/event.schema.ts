import Type, { type Static } from 'typebox';
import { matchOutcomes } from '../../db/events/event-match.entity.ts';
import type { EventRow } from '../../db/events/events.ts';
import { iso } from '../../db/sql.ts';
import { eventSources } from '../../db/triggers/event.entity.ts';
import { closed, FreeObject, idOf, integer, listOf, nullable, oneOf, stating, text, Timestamp } from '../http/input/schema.ts';
import { KindGlob } from './event-trigger.schema.ts';
import { kindForm } from '../../domain/triggers/kinds.ts';

const Kind = text(120, {
  minLength: 1,
  description: 'One to six segments of a-z, 0-9 and _, joined by dots, such as shop.order_paid',
});
const Subject = text(200, { description: 'What the event is about, for example an order or a customer' });
const Payload = { ...FreeObject, description: 'The data of the event; at most 64 KB' };
const DedupeKey = text(200, { minLength: 1, description: 'Events with the same key within 24 hours count only once' });
const OccurredAt = { ...Timestamp, description: 'When it happened' };

const EventMatch = closed({
  trigger_id: idOf('EventTrigger'),
  outcome: oneOf(matchOutcomes, {
    description:
      'started: a run has its data; coalescing: it waits for others; merged: it was merged into a run of others; dropped: its trigger was deleted or deactivated first; filtered: the filter rejected it; depth_exceeded: too many runs precede it; capped: its chain has started 200 runs; failed: no run could be started',
  }),
  run_id: nullable(idOf('Run')),
  error_code: nullable(text(200, { description: 'Why it failed' })),
});

export const EventView = closed(
  {
    id: idOf('Event'),
    event_kind: Kind,
    source: oneOf(eventSources, { description: 'Published by POST /events, a delivery of a webhook endpoint, or the platform’s own' }),
    subject: nullable(Subject),
    payload: Payload,
    dedupe_key: nullable(DedupeKey),
    depth: integer({ description: 'Number of runs before it in its chain' }),
    root_event_id: idOf('Event', 'The first event of its chain; its own id if it is the first'),
    cause_run_id: nullable(idOf('Run', 'The run that caused it')),
    deduplicated: Type.Boolean({ description: 'Whether it was already published, so that this is the first event' }),
    fan_out: oneOf(['pending', 'done'], { description: 'done: every trigger of its kind has been judged' }),
    matches: listOf(EventMatch, { maxItems: 10_000, description: 'The outcome for each trigger of its kind' }),
    occurred_at: OccurredAt,
    created_at: Timestamp,
  },
  { $id: 'EventView', description: 'Something that happened in a workspace' },
);

export const EventPublish = closed(
  {
    workspace_id: Type.Optional(nullable(idOf('Workspace'))),
    event_kind: stating(Kind, { pattern: kindForm.source }),
    subject: Type.Optional(nullable(Subject)),
    payload: Type.Optional(Payload),
    dedupe_key: Type.Optional(nullable(DedupeKey)),
    occurred_at: Type.Optional(nullable(OccurredAt)),
  },
  { $id: 'EventPublish', description: 'Something that happened' },
);

export const EventFilters = closed({
  event_kind: Type.Optional({
    ...KindGlob,
    description: 'Only events of this kind; * stands for one segment, ** at the end for one or more',
  }),
  from: Type.Optional({ ...Timestamp, description: 'Only events received at this time or later' }),
  to: Type.Optional({ ...Timestamp, description: 'Only events received before this time' }),
});

/** The wire form of an event. */
export function toEventView(row: EventRow, { isDuplicate = false } = {}): Static<typeof EventView> {
  return {
    id: row.id,
    event_kind: row.eventKind,
    source: row.source,
    subject: row.subject,
    payload: row.payload,
    dedupe_key: row.dedupeKey,
    depth: row.depth,
    root_event_id: row.rootEventId,
    cause_run_id: row.causeRunId,
    deduplicated: isDuplicate,
    fan_out: row.fanOut,
    matches: row.matches.map(toMatchView),
    occurred_at: iso(row.occurredAt),
    created_at: iso(row.createdAt),
  };
}

function toMatchView({ triggerId, outcome, runId, errorCode }: EventRow['matches'][number]): Static<typeof EventMatch> {
  return { trigger_id: triggerId, outcome, run_id: runId, error_code: errorCode };
}
