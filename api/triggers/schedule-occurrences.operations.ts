import { databaseTime } from '../../db/database-time.ts';
import { mapPage, type Page } from '../../db/page.ts';
import { seeForChange } from '../../db/scope.ts';
import { listOccurrenceRows, readOccurrence } from '../../db/schedules/occurrence-queries.ts';
import { readScheduleView, type ScheduleViewRow } from '../../db/schedules/schedule-queries.ts';
import { Schedule } from '../../db/triggers/schedule.entity.ts';
import { backfillPast } from '../../domain/schedules/backfills.ts';
import { triggerNow } from '../../domain/schedules/fire.ts';
import { planOf } from '../../domain/schedules/schedule-rules.ts';
import { strikesAfter } from '../../ports/schedule/cadence.ts';
import { previewCadence } from '../../ports/schedule/preview-cadence.ts';
import { timetableOf } from '../../ports/schedule/plan.ts';
import { list, post, type AuditNote, type Ctx } from '../http/operation/operation.ts';
import {
  OccurrenceFilters,
  ScheduleBackfill,
  ScheduleBackfillView,
  ScheduleOccurrenceView,
  SchedulePreview,
  SchedulePreviewView,
  ScheduleTrigger,
  toBackfillView,
  toOccurrenceView,
  toPreviewView,
  toUpcomingView,
} from './schedule-occurrence.schema.ts';
import { previewedTimes, ScheduleParams } from './schedule.schema.ts';

/** What schedules do: at their instants, by hand, and of what they would. */
export const scheduleOccurrenceOperations = {
  triggerSchedule: post(
    '/schedules/{schedule_id}/trigger',
    {
      summary: 'Fire a schedule now',
      description:
        'Fires the schedule at once, even while it is paused: starts a run, or buffers or skips it while another run is live. If the start is refused, the request fails and no occurrence is recorded.',
      access: 'member',
      fails: ['state_conflict'],
      audit: 'submit',
      idempotent: true,
      spends: true,
      success: [202],
      resourceType: 'schedule_occurrence',
      params: ScheduleParams,
      body: ScheduleTrigger,
      view: ScheduleOccurrenceView,
      example: { body: { overlap: 'allow_all' } },
    },
    async (ctx, { params, body }) => {
      const row = await readScheduleView(ctx, params.schedule_id);
      const schedule = await seeForChange(ctx, Schedule, params.schedule_id, { versionProperty: null });
      const templates = ctx.deps.templates.of(schedule.organizationId);
      const { billingCurrency: currency } = ctx.deps.env;
      const id = await triggerNow(ctx, templates, { scheduleId: schedule.id, overlap: body.overlap ?? null, currency });
      ctx.audit(noteOf('schedule_occurrence', id, row));
      return toOccurrenceView(await readOccurrence(ctx, schedule.id, id));
    },
  ),

  backfillSchedule: post(
    '/schedules/{schedule_id}/backfill',
    {
      summary: 'Start runs for past times',
      description:
        'Starts a run for each past time of a range that has none. They run alongside regular runs, one after the other unless overlap is allow_all. More than max_runs is 422 with the number in context.planned; dry_run reports the plan and starts nothing.',
      access: 'admin',
      audit: 'submit',
      idempotent: true,
      spends: true,
      success: [202],
      resourceType: 'schedule_backfill',
      params: ScheduleParams,
      body: ScheduleBackfill,
      view: ScheduleBackfillView,
      example: { body: { from: '2026-01-01T00:00:00.000Z', to: '2026-01-02T00:00:00.000Z', dry_run: true } },
    },
    async (ctx, { params, body }) => {
      const row = await readScheduleView(ctx, params.schedule_id);
      const { id: scheduleId } = await seeForChange(ctx, Schedule, params.schedule_id, { versionProperty: null });
      const { overlap = 'sequential', max_runs: maxRuns = 100, dry_run: isDryRun = false } = body;
      const asked = { from: new Date(body.from), to: new Date(body.to), overlap, maxRuns, isDryRun };
      const made = await backfillPast(ctx, scheduleId, asked);
      ctx.audit(noteOf('schedule_backfill', made.id, row));
      return toBackfillView(scheduleId, asked, made);
    },
  ),

  listScheduleOccurrences: list(
    '/schedules/{schedule_id}/occurrences',
    {
      summary: 'List the occurrences of a schedule',
      description:
        'Occurrences of the schedule and their outcomes, latest first, kept for 400 days. upcoming adds this many future ones before the first page, latest first.',
      access: 'viewer',
      paging: 'keyset',
      params: ScheduleParams,
      query: OccurrenceFilters,
      view: ScheduleOccurrenceView,
    },
    async (ctx, { params, query: { upcoming = 0, status, ...filters } }) => {
      const schedule = await readScheduleView(ctx, params.schedule_id);
      const isOpen = (filters.kind ?? 'regular') === 'regular' && (status ?? 'upcoming') === 'upcoming';
      const ahead = isOpen && isFirst(ctx) ? await upcomingOf(ctx, schedule, { count: upcoming, ...filters }) : [];
      if (status === 'upcoming') return { items: ahead, next: null, total: ctx.page.offset === null ? null : 0 };
      const page: Page<ReturnType<typeof toOccurrenceView>> = mapPage(
        await listOccurrenceRows(ctx, schedule.id, { ...filters, status }, ctx.page),
        toOccurrenceView,
      );
      return { ...page, items: [...ahead, ...page.items] };
    },
  ),

  previewSchedule: post(
    '/schedules/preview',
    {
      summary: 'Preview the times of a schedule',
      description:
        'Returns a plain description of these times, the next occurrences, and the clock changes that affect them. Stores nothing.',
      access: 'viewer',
      audit: 'none',
      transaction: 'none',
      success: [200],
      body: SchedulePreview,
      view: SchedulePreviewView,
      example: { body: { cron: '30 2 * * *', timezone: 'America/New_York', count: 3 } },
    },
    async (ctx, { body: { after, count = 10, ...times } }) => {
      const now = ctx.deps.now();
      const { timetable, description } = planOf(previewedTimes(times), { createdAt: now, now });
      const from = after === undefined ? now : new Date(after);
      return toPreviewView(description, previewCadence(timetable, { after: from.getTime(), count }));
    },
  ),
};

function isFirst({ page }: Ctx): boolean {
  return page.after === null && (page.offset ?? 0) === 0;
}

/** The next instants, the farthest first, as the list goes. */
async function upcomingOf(
  ctx: Ctx,
  schedule: ScheduleViewRow,
  { count, from, to }: { readonly count: number; readonly from?: string | undefined; readonly to?: string | undefined },
) {
  if (count === 0 || !schedule.isActive) return [];
  const now = await databaseTime(ctx.em);
  const strikes = strikesAfter(timetableOf(schedule), {
    after: Math.max(now.getTime(), from === undefined ? 0 : new Date(from).getTime() - 1),
    // An occurrence at a time that the clocks show twice may be skipped.
    count: 2 * count,
    until: to === undefined ? null : new Date(to).getTime() - 1,
  });
  const coming = strikes.filter(({ isSkipped }) => !isSkipped).slice(0, count);
  return coming.toReversed().map((strike) => toUpcomingView(schedule.id, schedule.overlap, strike));
}

function noteOf(resourceType: string, resourceId: string | null, { name, organizationId, workspaceId }: ScheduleViewRow): AuditNote {
  return { resourceType, resourceId, label: name, organizationId, workspaceId };
}
