import { forgetReplies } from '../../domain/http/idempotency.ts';
import { resolveNewRowWorkspace } from '../../db/new-row-scope.ts';
import { mapPage } from '../../db/page.ts';
import { seeForChange } from '../../db/scope.ts';
import { listScheduleRows, readScheduleView, type ScheduleViewRow } from '../../db/schedules/schedule-queries.ts';
import { Schedule } from '../../db/triggers/schedule.entity.ts';
import { changeSchedule, deleteSchedule, makeSchedule } from '../../domain/schedules/schedules.ts';
import { changesOf } from '../http/operation/changes.ts';
import { get, list, patch, post, remove, reply, type AuditNote } from '../http/operation/operation.ts';
import {
  changedScheduleFields,
  newScheduleFields,
  ScheduleCreate,
  ScheduleFilters,
  ScheduleParams,
  ScheduleUpdate,
  ScheduleView,
  toScheduleView,
} from './schedule.schema.ts';

const resourceType = 'schedule';

/** Clocks that start runs of agents. */
export const scheduleOperations = {
  listSchedules: list(
    '/schedules',
    {
      summary: 'List schedules',
      description: 'Schedules that the caller can see, newest first. q searches the name.',
      access: 'viewer',
      paging: 'keyset',
      query: ScheduleFilters,
      view: ScheduleView,
    },
    async (ctx, { query: { q, agent_id: agentId, is_active: isActive } }) => {
      const active = isActive === true ? (true as const) : undefined;
      const inactive = isActive === false ? (true as const) : undefined;
      return mapPage(await listScheduleRows(ctx, { q, agentId, active, inactive }, ctx.page), toScheduleView);
    },
  ),

  createSchedule: post(
    '/schedules',
    {
      summary: 'Create a schedule',
      description:
        'Creates a schedule that starts runs of an agent; creating it does not start a run. Requires exactly one of cron, every_seconds and run_at. An invalid cron is 422 with the position. At most 500 per workspace.',
      access: 'member',
      fails: ['not_found', 'state_conflict'],
      audit: 'create',
      idempotent: true,
      resourceType,
      location: (view: { readonly id: string }) => `/schedules/${view.id}`,
      body: ScheduleCreate,
      view: ScheduleView,
      example: {
        body: {
          agent_id: '01960000-0000-7000-8000-000000000001',
          name: 'Morning report',
          cron: '0 8 * * 1-5',
          timezone: 'Europe/Berlin',
          prompt_template: 'Write the report of {{ schedule.local_time }}.',
        },
      },
    },
    async (ctx, { body }) => {
      const place = await resolveNewRowWorkspace(ctx, body.workspace_id);
      const templates = ctx.deps.templates.of(place.organizationId);
      const fields = { ...newScheduleFields(body), ...place, agentId: body.agent_id, createdByUserId: ctx.caller.userId };
      const row = await readScheduleView(ctx, await makeSchedule(ctx, { templates }, fields));
      ctx.audit(noteOf(row));
      return toScheduleView(row);
    },
  ),

  getSchedule: get(
    '/schedules/{schedule_id}',
    {
      summary: 'Read a schedule',
      description: 'Returns one schedule with its next and last occurrence.',
      access: 'viewer',
      etag: true,
      // The clock and the sync change the view independently of the version.
      notModified: false,
      params: ScheduleParams,
      view: ScheduleView,
    },
    async (ctx, { params }) => {
      const row = await readScheduleView(ctx, params.schedule_id);
      return reply(toScheduleView(row), { version: row.version });
    },
  ),

  updateSchedule: patch(
    '/schedules/{schedule_id}',
    {
      summary: 'Change a schedule',
      description:
        'Changes the fields that are sent and keeps the rest; null clears a field. is_active false pauses the schedule: occurrences that are due in the meantime are dropped. New times, and resuming after a pause, count from now.',
      access: 'member',
      fails: ['state_conflict'],
      audit: 'update',
      etag: true,
      resourceType,
      params: ScheduleParams,
      body: ScheduleUpdate,
      view: ScheduleView,
      example: { body: { cron: '30 7 * * 1-5', overlap: 'buffer_one' } },
    },
    async (ctx, { params, body }) => {
      const before = await readScheduleView(ctx, params.schedule_id);
      const schedule = await seeForChange(ctx, Schedule, params.schedule_id);
      const templates = ctx.deps.templates.of(schedule.organizationId);
      await changeSchedule(ctx, { templates }, { schedule, change: changedScheduleFields(body) });
      const row = await readScheduleView(ctx, schedule.id);
      ctx.audit(noteOf(row, changesOf(toScheduleView(before), toScheduleView(row), audited)));
      return reply(toScheduleView(row), { version: row.version });
    },
  ),

  deleteSchedule: remove(
    '/schedules/{schedule_id}',
    {
      summary: 'Delete a schedule',
      description: 'It starts no further runs; its buffered occurrences and backfills are cancelled. Runs that it has started continue.',
      access: 'member',
      audit: 'delete',
      openWhenSuspended: true,
      resourceType,
      params: ScheduleParams,
    },
    async (ctx, { params }) => {
      const row = await readScheduleView(ctx, params.schedule_id);
      const schedule = await seeForChange(ctx, Schedule, params.schedule_id, { versionProperty: null, openWhenSuspended: true });
      await deleteSchedule(ctx, schedule);
      await forgetReplies(ctx, [schedule.id]);
      ctx.audit(noteOf(row));
    },
  ),
};

const audited = [
  'name',
  'cron',
  'every_seconds',
  'run_at',
  'timezone',
  'dst',
  'prompt_template',
  'input_template',
  'session_key_template',
  'persona_slug_template',
  'subject_template',
  'overlap',
  'catch_up_seconds',
  'jitter_seconds',
  'starts_at',
  'ends_at',
  'pause_after_failures',
  'is_active',
  'pause_reason',
] as const;

function noteOf({ id, name, organizationId, workspaceId }: ScheduleViewRow, changes: AuditNote['changes'] = {}): AuditNote {
  return { resourceType, resourceId: id, label: name, organizationId, workspaceId, changes };
}
