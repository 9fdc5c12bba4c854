import {
  ScheduleAlreadyRunning,
  ScheduleNotFoundError,
  ScheduleOverlapPolicy,
  type CalendarSpec,
  type ScheduleOptions,
  type ScheduleOptionsAction,
  type ScheduleSpec,
} from '@temporalio/client';
import type { ScheduleRow } from '../db/triggers/schedules.ts';
import { taskQueues, workflowIds } from '../workflows/contracts/queues.ts';
import type { Temporal } from './client.ts';
import { signTenantHeader, type TenantHeader } from './header.ts';
import { searchAttributePairs } from './search-attributes.ts';

/** Values from `start` to `end`, every `step`. */
interface FieldRange {
  readonly start: number;
  readonly end: number;
  readonly step: number;
}

/** The compiled form in `schedules.compiled`, as `ports/schedule/compile-cadence.ts` makes it. */
export interface CompiledTimes {
  readonly zone: string;
  readonly calendars: readonly (Readonly<Record<'minute' | 'hour' | 'dayOfMonth' | 'month' | 'dayOfWeek', readonly FieldRange[]>> & {
    readonly year?: readonly FieldRange[];
  })[];
  readonly intervals: readonly { readonly everySeconds: number; readonly phaseSeconds: number }[];
  readonly instants: readonly number[];
  readonly startsAt: number | null;
  readonly endsAt: number | null;
}

const months = [
  'JANUARY',
  'FEBRUARY',
  'MARCH',
  'APRIL',
  'MAY',
  'JUNE',
  'JULY',
  'AUGUST',
  'SEPTEMBER',
  'OCTOBER',
  'NOVEMBER',
  'DECEMBER',
] as const;
const weekdays = ['SUNDAY', 'MONDAY', 'TUESDAY', 'WEDNESDAY', 'THURSDAY', 'FRIDAY', 'SATURDAY'] as const;

/**
 * Makes Temporal's schedule `trigger:<id>` match the row, whatever it was before. Its firings carry the signed tenant. Returns the time, by Temporal's clock,
 * from which the schedule fires by itself.
 */
export async function upsertTriggerSchedule(temporal: Temporal, schedule: ScheduleRow, tenant: TenantHeader): Promise<Date> {
  const options = optionsOf(schedule);
  const { scheduleId, spec, action, policies, state } = options;
  const header = signTenantHeader(temporal.headerKeys, { ...tenant, trace: null });
  try {
    await temporal.withHeader(header, () => temporal.client.schedule.create(options));
  } catch (error) {
    if (!(error instanceof ScheduleAlreadyRunning)) throw error;
    // A single instant that has passed leaves the remaining actions at 0: the state is therefore replaced as well.
    await temporal.client.schedule
      .getHandle(scheduleId)
      .update(() => ({ spec, action, policies, state: { ...state, paused: state?.paused ?? false } }));
  }
  // Temporal takes over when its scheduler first sees the change, which is after its reply and, on a busy server, seconds later.
  const { info } = await temporal.client.schedule.getHandle(scheduleId).describe();
  return info.lastUpdatedAt ?? info.createdAt;
}

/** Fires a schedule's instants after `from` and up to `to`, which Temporal learned of too late; an instant that has fired is claimed already. */
export async function strikeSince(
  temporal: Temporal,
  { id }: Pick<ScheduleRow, 'id'>,
  { from, to }: Readonly<Record<'from' | 'to', Date>>,
): Promise<void> {
  await temporal.client.schedule
    .getHandle(workflowIds.trigger(id))
    .backfill({ start: from, end: to, overlap: ScheduleOverlapPolicy.ALLOW_ALL });
}

/** Removes the schedule; a missing one counts as removed. */
export async function removeTriggerSchedule(temporal: Temporal, id: string): Promise<void> {
  try {
    await temporal.client.schedule.getHandle(workflowIds.trigger(id)).delete();
  } catch (error) {
    if (!(error instanceof ScheduleNotFoundError)) throw error;
  }
}

function optionsOf(schedule: ScheduleRow): ScheduleOptions<ScheduleOptionsAction> {
  // Only `planSchedule` writes it.
  const compiled = schedule.compiled as unknown as CompiledTimes;
  return {
    scheduleId: workflowIds.trigger(schedule.id),
    spec: { ...specOf(compiled), ...(schedule.jitterSeconds === 0 ? {} : { jitter: schedule.jitterSeconds * 1_000 }) },
    action: {
      type: 'startWorkflow',
      workflowType: 'fireSchedule',
      workflowId: workflowIds.fire(schedule.id),
      taskQueue: taskQueues.runs,
      args: [{ scheduleId: schedule.id }],
      typedSearchAttributes: searchAttributePairs({
        OrganizationId: schedule.organizationId,
        WorkspaceId: schedule.workspaceId,
        SourceId: schedule.id,
      }),
    },
    policies: { overlap: ScheduleOverlapPolicy.ALLOW_ALL, catchupWindow: Math.max(10, schedule.catchUpSeconds) * 1_000 },
    state: { paused: !schedule.isActive },
  };
}

/** Returns compiled times in Temporal's form. */
export function specOf(compiled: CompiledTimes): ScheduleSpec {
  return {
    calendars: [...compiled.calendars.map(toCalendar), ...compiled.instants.map((instant) => toDated(instant, compiled.zone))],
    intervals: compiled.intervals.map(({ everySeconds, phaseSeconds }) => ({ every: everySeconds * 1_000, offset: phaseSeconds * 1_000 })),
    timezone: compiled.zone,
    ...(compiled.startsAt === null ? {} : { startAt: new Date(compiled.startsAt) }),
    ...(compiled.endsAt === null ? {} : { endAt: new Date(compiled.endsAt) }),
  };
}

function toCalendar(calendar: CompiledTimes['calendars'][number]): CalendarSpec {
  return {
    second: 0,
    minute: calendar.minute.map(plain),
    hour: calendar.hour.map(plain),
    dayOfMonth: calendar.dayOfMonth.map(plain),
    month: calendar.month.map(({ start, end, step }) => ({
      start: months[start - 1] ?? 'JANUARY',
      end: months[end - 1] ?? 'DECEMBER',
      step,
    })),
    dayOfWeek: calendar.dayOfWeek.map(({ start, end, step }) => ({
      start: weekdays[start] ?? 'SUNDAY',
      end: weekdays[end] ?? 'SATURDAY',
      step,
    })),
    ...(calendar.year === undefined ? {} : { year: calendar.year.map(plain) }),
  };
}

/** Returns one instant as the zone's clocks show it. */
function toDated(instant: number, zone: string): CalendarSpec {
  const parts = new Intl.DateTimeFormat('en-US', {
    timeZone: zone,
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  }).formatToParts(instant);
  const part = (type: Intl.DateTimeFormatPartTypes) => Number(parts.find((one) => one.type === type)?.value ?? 0);
  return {
    second: part('second'),
    minute: part('minute'),
    hour: part('hour'),
    dayOfMonth: part('day'),
    month: months[part('month') - 1] ?? 'JANUARY',
    year: part('year'),
  };
}

function plain({ start, end, step }: FieldRange): FieldRange {
  return { start, end, step };
}
