import Type, { type Static } from 'typebox';
import type { OccurrenceRow } from '../../db/schedules/occurrence-queries.ts';
import { backfillOverlaps, backfillStatuses } from '../../db/schedules/schedule-backfill.entity.ts';
import { iso } from '../../db/sql.ts';
import { overlaps } from '../../db/triggers/schedule.entity.ts';
import { occurrenceKinds, occurrenceStatuses } from '../../db/triggers/schedule-occurrence.entity.ts';
import type { PlannedBackfill } from '../../domain/schedules/backfills.ts';
import type { ScheduledInstant } from '../../ports/schedule/cadence.ts';
import type { CadencePreview } from '../../ports/schedule/preview-cadence.ts';
import { closed, exactlyOneOf, idOf, integer, listOf, nullable, oneOf, stating, text, Timestamp } from '../http/input/schema.ts';
import { times } from './schedule.schema.ts';

const statuses = ['upcoming', ...occurrenceStatuses] as const;
const Kind = oneOf(occurrenceKinds, {
  description: 'regular: by the schedule; manual: by a request; backfill: for a past time, on request',
});
const LocalTime = text(40, { description: 'The same in local time of the zone, with offset' });

export const OccurrenceFilters = closed({
  status: Type.Optional(oneOf(statuses, { description: 'Only occurrences with this outcome' })),
  kind: Type.Optional(oneOf(occurrenceKinds, { description: 'Only occurrences of this kind' })),
  from: Type.Optional({ ...Timestamp, description: 'Due at this time or later' }),
  to: Type.Optional({ ...Timestamp, description: 'Due before this time' }),
  upcoming: Type.Optional(
    integer({ maximum: 50, default: 0, description: 'Number of upcoming times to list before the first page, in addition to its limit' }),
  ),
});

export const ScheduleOccurrenceView = closed(
  {
    id: nullable(idOf('ScheduleOccurrence', 'Null for a future occurrence')),
    schedule_id: idOf('Schedule'),
    kind: Kind,
    nominal_at: { ...Timestamp, description: 'When it is or was due, without jitter' },
    local_time: LocalTime,
    shifted_from: nullable(text(40, { description: 'The intended time, if the clocks skipped it' })),
    status: oneOf(statuses, {
      extensible: true,
      description:
        'upcoming; started: its run is live, or has ended as succeeded, failed or cancelled; buffered: it waits for another run to end; skipped_overlap: another run was live; skipped_dst: the second occurrence of a time that the clocks show twice; missed: it was handled too late, or not at all',
    }),
    overlap: oneOf([...overlaps], { description: 'What to do if another run was live' }),
    run_id: nullable(idOf('Run', 'The run that it started')),
    backfill_id: nullable(idOf('ScheduleBackfill', 'The backfill that requested it')),
    reason: nullable(
      text(200, {
        description:
          'Details for programs: late, never_fired, buffer_full, replaced, template, or an error code of the start; for a started one, persona_unknown if it uses the default persona',
      }),
    ),
    started_at: nullable({ ...Timestamp, description: 'When its run was started' }),
    finished_at: nullable({ ...Timestamp, description: 'When it ended' }),
  },
  { $id: 'ScheduleOccurrenceView', description: 'One occurrence of a schedule and its outcome' },
);

export const ScheduleTrigger = closed(
  {
    overlap: Type.Optional(
      oneOf(overlaps, { description: 'What to do while another run of the schedule is live; defaults to the setting of the schedule' }),
    ),
  },
  { $id: 'ScheduleTrigger', description: 'How to fire a schedule now' },
);

export const ScheduleBackfill = closed(
  {
    from: { ...Timestamp, description: 'Start of the range, inclusive' },
    to: { ...Timestamp, description: 'End of the range, inclusive; in the past, at most 366 days after from' },
    overlap: Type.Optional(
      oneOf(backfillOverlaps, {
        default: 'sequential',
        description: 'sequential: one run after the other; allow_all: concurrently, at most ten starts per second',
      }),
    ),
    max_runs: Type.Optional(
      integer({
        minimum: 1,
        maximum: 1_000,
        default: 100,
        description: 'The request is refused with 422 and the number if there are more',
      }),
    ),
    dry_run: Type.Optional(Type.Boolean({ default: false, description: 'Reports what it would start, and starts nothing' })),
  },
  { $id: 'ScheduleBackfill', description: 'Past times whose runs are started now' },
);

export const ScheduleBackfillView = closed(
  {
    id: nullable(idOf('ScheduleBackfill', 'Null: a dry run')),
    schedule_id: idOf('Schedule'),
    from: Timestamp,
    to: Timestamp,
    overlap: oneOf(backfillOverlaps, { description: 'Whether its runs follow one another' }),
    planned: integer({ description: 'Number of times that will start a run' }),
    already_run: integer({ description: 'Number of times that are omitted because they already have a run' }),
    instants: listOf({ ...Timestamp }, { maxItems: 100, description: 'The first of the times that will start a run' }),
    dry_run: Type.Boolean({ description: 'Nothing is started' }),
    status: oneOf(backfillStatuses, {
      extensible: true,
      description: 'done: all runs were started; cancelled: the schedule was deleted first',
    }),
    started: integer({ description: 'Runs that were started' }),
    failed: integer({ description: 'Starts that were refused' }),
    created_at: Timestamp,
  },
  { $id: 'ScheduleBackfillView', description: 'A backfill; its occurrences show the outcome' },
);

export const SchedulePreview = stating(
  closed(
    {
      ...times,
      after: Type.Optional({ ...Timestamp, description: 'Times after this time; defaults to now' }),
      count: Type.Optional(integer({ minimum: 1, maximum: 50, default: 10, description: 'How many times to return' })),
    },
    { $id: 'SchedulePreview', description: 'The times of a schedule: exactly one of cron, every_seconds and run_at' },
  ),
  exactlyOneOf('cron', 'every_seconds', 'run_at'),
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
            description: 'shifted: the clocks skip the intended time; first_of_two, second_of_two: the clocks show it twice',
          }),
        ),
      }),
      { maxItems: 50, description: 'The next ones' },
    ),
    warnings: listOf(
      closed({
        code: oneOf(['dst_gap', 'dst_repeat'], { description: 'What the clocks do' }),
        at: { ...Timestamp, description: 'The first time after the gap, or the second occurrence of a time that the clocks show twice' },
        message: text(500, { description: 'What that means for it' }),
      }),
      { maxItems: 20, description: 'Clock changes in the next 400 days that affect it' },
    ),
    min_gap_seconds: nullable(
      Type.Number({
        minimum: 0,
        maximum: 1e10,
        description: 'Shortest interval between two upcoming times; null if there are fewer than two',
      }),
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

/** The wire form of a backfill that has just been created, or of a dry run. */
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
