import Type, { type Static } from 'typebox';
import type { OccurrenceRow } from '../../db/schedules/occurrence-queries.ts';
import { backfillOverlaps, backfillStatuses } from '../../db/schedules/schedule-backfill.entity.ts';
import { iso } from '../../db/sql.ts';
import { overlaps } from '../../db/triggers/schedule.entity.ts';
import { occurrenceKinds, occurrenceStatuses } from '../../db/triggers/schedule-occurrence.entity.ts';
import type { PlannedBackfill } from '../../domain/schedules/backfills.ts';
import type { ScheduledInstant } from '../../ports/schedule/cadence.ts';
import type { CadencePreview } from '../../ports/schedule/preview-cadence.ts';
import { closed, idOf, integer, listOf, nullable, oneOf, text, Timestamp } from '../http/input/schema.ts';
import { times } from './schedule.schema.ts';

const statuses = ['upcoming', ...occurrenceStatuses] as const;
const Kind = oneOf(occurrenceKinds, {
  description: 'regular: by the clock; manual: by a request; backfill: a past instant that was asked for',
});
const LocalTime = text(40, { description: 'The same by the clocks of its zone, with offset' });

export const OccurrenceFilters = closed({
  status: Type.Optional(oneOf(statuses, { description: 'Only occurrences that came to this' })),
  kind: Type.Optional(oneOf(occurrenceKinds, { description: 'Only occurrences of this kind' })),
  from: Type.Optional({ ...Timestamp, description: 'Due at this time or later' }),
  to: Type.Optional({ ...Timestamp, description: 'Due before this time' }),
  upcoming: Type.Optional(
    integer({ maximum: 50, default: 0, description: 'So many coming instants ahead of the first page, beyond its limit' }),
  ),
});

export const ScheduleOccurrenceView = closed(
  {
    id: nullable(idOf('ScheduleOccurrence', 'Null: it is still to come')),
    schedule_id: idOf('Schedule'),
    kind: Kind,
    nominal_at: { ...Timestamp, description: 'When it is or was due, without jitter' },
    local_time: LocalTime,
    shifted_from: nullable(text(40, { description: 'The time that was meant, where the clocks leapt over it' })),
    status: oneOf(statuses, {
      extensible: true,
      description:
        'upcoming; started: its run is live, or has ended as succeeded, failed or cancelled; buffered: it waits for the end of another; skipped_overlap: another was live; skipped_dst: the second of a time that the clocks show twice; missed: it was handled too late, or by nobody',
    }),
    overlap: oneOf([...overlaps], { description: 'What was to be done beside a live run' }),
    run_id: nullable(idOf('Run', 'The run that it started')),
    backfill_id: nullable(idOf('ScheduleBackfill', 'The backfill that asked for it')),
    reason: nullable(
      text(200, {
        description:
          'More about it, for programs: late, never_fired, buffer_full, replaced, template, an error code of the start; of one that was started persona_unknown, where it has the default persona',
      }),
    ),
    started_at: nullable({ ...Timestamp, description: 'When its run was started' }),
    finished_at: nullable({ ...Timestamp, description: 'When it ended' }),
  },
  { $id: 'ScheduleOccurrenceView', description: 'One instant of a schedule and what became of it' },
);

export const ScheduleTrigger = closed(
  { overlap: Type.Optional(oneOf(overlaps, { description: 'What is done while a run of it is live; the schedule’s own unless given' })) },
  { $id: 'ScheduleTrigger', description: 'How a schedule is fired now' },
);

export const ScheduleBackfill = closed(
  {
    from: { ...Timestamp, description: 'First instant, included' },
    to: { ...Timestamp, description: 'Last instant, included; in the past, at most 366 days after from' },
    overlap: Type.Optional(
      oneOf(backfillOverlaps, {
        default: 'sequential',
        description: 'sequential: one run after the other; allow_all: beside each other, at most ten starts a second',
      }),
    ),
    max_runs: Type.Optional(integer({ minimum: 1, maximum: 1_000, default: 100, description: '422 with the number if there are more' })),
    dry_run: Type.Optional(Type.Boolean({ default: false, description: 'Tells what it would start, and starts nothing' })),
  },
  { $id: 'ScheduleBackfill', description: 'Past instants whose runs are to be started now' },
);

export const ScheduleBackfillView = closed(
  {
    id: nullable(idOf('ScheduleBackfill', 'Null: a dry run')),
    schedule_id: idOf('Schedule'),
    from: Timestamp,
    to: Timestamp,
    overlap: oneOf(backfillOverlaps, { description: 'Whether its runs are one after the other' }),
    planned: integer({ description: 'Instants that are to start a run' }),
    already_run: integer({ description: 'Instants that are left out: they have a run' }),
    instants: listOf({ ...Timestamp }, { maxItems: 100, description: 'The first of those that are to start one' }),
    dry_run: Type.Boolean({ description: 'Nothing is started' }),
    status: oneOf(backfillStatuses, {
      extensible: true,
      description: 'done: each instant was started; cancelled: the schedule was deleted before',
    }),
    started: integer({ description: 'Runs that were started' }),
    failed: integer({ description: 'Starts that were refused' }),
    created_at: Timestamp,
  },
  { $id: 'ScheduleBackfillView', description: 'A backfill; its occurrences show what becomes of it' },
);

export const SchedulePreview = closed(
  {
    ...times,
    after: Type.Optional({ ...Timestamp, description: 'Instants after this time; now unless given' }),
    count: Type.Optional(integer({ minimum: 1, maximum: 50, default: 10, description: 'How many instants' })),
  },
  { $id: 'SchedulePreview', description: 'Times as a schedule has them, exactly one of cron, every_seconds and run_at' },
);

export const SchedulePreviewView = closed(
  {
    description: text(2_000, { description: 'When it runs, in plain words' }),
    instants: listOf(
      closed({
        at: { ...Timestamp, description: 'When it runs, without jitter' },
        local_time: LocalTime,
        note: nullable(
          oneOf(['shifted', 'first_of_two', 'second_of_two'], {
            description: 'shifted: the clocks leap over the time that is meant; first_of_two, second_of_two: they show it twice',
          }),
        ),
      }),
      { maxItems: 50, description: 'The next ones' },
    ),
    warnings: listOf(
      closed({
        code: oneOf(['dst_gap', 'dst_repeat'], { description: 'What the clocks do' }),
        at: { ...Timestamp, description: 'The first instant after the gap, or the second one of a time that comes twice' },
        message: text(500, { description: 'What that means for it' }),
      }),
      { maxItems: 20, description: 'Clock changes of the next 400 days that it falls into' },
    ),
    min_gap_seconds: nullable(
      Type.Number({ minimum: 0, maximum: 1e10, description: 'Shortest time between two of the next instants; null: there are not two' }),
    ),
  },
  { $id: 'SchedulePreviewView', description: 'What a schedule with these times would do' },
);

/** The wire form of an occurrence. */
export function toOccurrenceView(row: OccurrenceRow): Static<typeof ScheduleOccurrenceView> {
  return {
    id: row.id,
    schedule_id: row.scheduleId,
    kind: row.kind,
    nominal_at: iso(row.nominalAt),
    local_time: row.localTime,
    shifted_from: row.shiftedFrom,
    status: row.status,
    overlap: overlapOf(row.overlap),
    run_id: row.runId,
    backfill_id: row.backfillId,
    reason: row.reason,
    started_at: iso(row.startedAt),
    finished_at: iso(row.finishedAt),
  };
}

type Overlap = (typeof overlaps)[number];

function overlapOf(stored: string): Overlap {
  return overlaps.find((overlap) => overlap === stored) ?? 'allow_all';
}

/** The wire form of an instant that is still to come. */
export function toUpcomingView(scheduleId: string, overlap: Overlap, strike: ScheduledInstant): Static<typeof ScheduleOccurrenceView> {
  return {
    id: null,
    schedule_id: scheduleId,
    kind: 'regular',
    nominal_at: instantText(strike.at),
    local_time: strike.localTime,
    shifted_from: strike.shiftedFrom,
    status: 'upcoming',
    overlap,
    run_id: null,
    backfill_id: null,
    reason: null,
    started_at: null,
    finished_at: null,
  };
}

/** The wire form of a backfill that has just been made, or would be. */
export function toBackfillView(
  scheduleId: string,
  asked: { readonly from: Date; readonly to: Date; readonly overlap: (typeof backfillOverlaps)[number] },
  made: PlannedBackfill,
): Static<typeof ScheduleBackfillView> {
  return {
    id: made.id,
    schedule_id: scheduleId,
    from: iso(asked.from),
    to: iso(asked.to),
    overlap: asked.overlap,
    planned: made.planned,
    already_run: made.alreadyRun,
    instants: made.instants.map(({ at }) => instantText(at)),
    dry_run: made.id === null,
    status: 'queued',
    started: 0,
    failed: 0,
    created_at: iso(made.createdAt),
  };
}

/** The wire form of a preview. */
export function toPreviewView(description: string, preview: CadencePreview): Static<typeof SchedulePreviewView> {
  return {
    description,
    instants: preview.instants.map(({ at, localTime, note }) => ({ at: instantText(at), local_time: localTime, note })),
    warnings: preview.warnings.map(({ code, at, message }) => ({ code, at: instantText(at), message })),
    min_gap_seconds: preview.minGapSeconds,
  };
}

function instantText(at: number): string {
  return new Date(at).toISOString();
}
