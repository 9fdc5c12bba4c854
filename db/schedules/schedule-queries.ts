import { sql } from 'kysely';
import type { Condition } from '../condition.ts';
import { contains, preparedList } from '../page-query.ts';
import type { PageRequest } from '../page.ts';
import { prepared, type ParametersOf } from '../prepared.ts';
import { query } from '../query.ts';
import { visibleToSql, seen, visibleTo, type Scoped } from '../scope.ts';
import { row } from '../sql.ts';
import { Schedule } from '../triggers/schedule.entity.ts';

/** A schedule as views show it. */
export type ScheduleViewRow = NonNullable<Awaited<ReturnType<typeof readScheduleRow>>>;

export interface ScheduleFilters {
  readonly q?: string;
  readonly agentId?: string;
  /** Each is true or undefined: a prepared query only sees which are present. */
  readonly active?: true;
  readonly inactive?: true;
}

function selectSchedules(visible: Condition) {
  return query
    .selectFrom('schedules as s')
    .where('s.deletedAt', 'is', null)
    .where(visible)
    .select(['s.id', 's.organizationId', 's.workspaceId', 's.agentId', 's.name', 's.description', 's.cron', 's.everySeconds', 's.runAt'])
    .select(['s.timezone', 's.dst', 's.promptTemplate', 's.inputTemplate', 's.sessionKeyTemplate', 's.personaSlugTemplate'])
    .select(['s.subjectTemplate', 's.overlap', 's.catchUpSeconds', 's.jitterSeconds', 's.startsAt', 's.endsAt', 's.pauseAfterFailures'])
    .select(['s.isActive', 's.pauseReason', 's.nextRunAt', 's.lastOccurrenceAt', 's.syncState', 's.createdByUserId'])
    .select(['s.version', 's.createdAt', 's.updatedAt']);
}

const oneSchedule = prepared(({ scheduleId, visible }: ParametersOf<{ readonly scheduleId: string; readonly visible: Condition }>) =>
  selectSchedules(visible).where('s.id', '=', scheduleId),
);

function readScheduleRow(ctx: Scoped, scheduleId: string) {
  return row(ctx.em, oneSchedule({ scheduleId, visible: visibleToSql(ctx, Schedule, 's') }));
}

/** Returns one schedule that the caller sees. Throws 404, or 403 where the caller's rank is below the floor. */
export async function readScheduleView(ctx: Scoped, scheduleId: string): Promise<ScheduleViewRow> {
  return seen(ctx, await readScheduleRow(ctx, scheduleId));
}

const scheduleList = preparedList(
  ({ q, agentId, active, inactive, visible }: ParametersOf<ScheduleFilters & { readonly visible: Condition }>) => {
    let schedules = selectSchedules(visible);
    if (q) schedules = schedules.where(({ ref }) => contains(q, ref('s.name')));
    if (agentId) schedules = schedules.where('s.agentId', '=', agentId);
    if (active) schedules = schedules.where('s.isActive', '=', sql.lit(true));
    if (inactive) schedules = schedules.where('s.isActive', '=', sql.lit(false));
    return schedules;
  },
  [{ column: 's.id', type: 'uuid', descending: true }],
);

/** Returns the schedules that the caller sees, newest first. */
export function listScheduleRows(ctx: Scoped, filters: ScheduleFilters, page: PageRequest) {
  return scheduleList(ctx.em, { ...filters, visible: visibleTo(ctx, Schedule, 's') }, page);
}
