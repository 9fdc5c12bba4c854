import { newId } from '../../db/ids.ts';
import type { Databases } from '../../db/databases.ts';
import { sweep, systemActor, transact, workspaceTenant } from '../../db/transaction.ts';
import { row, rows } from '../../db/sql.ts';
import { createSchedule, type NewSchedule } from '../../db/triggers/schedules.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';
import { planSchedule } from '../../ports/schedule-plan.ts';

export interface SchedulePlace {
  readonly organizationId: string;
  readonly workspaceId: string;
}

/** One transaction in a workspace, as the system; nothing is sent: the relay does it. */
export async function within<R>(db: Databases, place: SchedulePlace, work: (tx: TenantTransaction) => Promise<R>): Promise<R> {
  const tenant = workspaceTenant(place.organizationId, place.workspaceId);
  return (await transact(db, { tenant, actor: systemActor, correlationId: newId() }, work)).value;
}

/** Makes a schedule as POST /schedules would; gives its id. */
export function makeSchedule(
  db: Databases,
  place: SchedulePlace,
  more: Partial<NewSchedule> & { readonly agentId: string },
): Promise<string> {
  const at = new Date();
  const dst = more.dst ?? { gap: 'shift', repeat: 'once' };
  const times = { cron: more.cron ?? null, everySeconds: more.everySeconds ?? null, runAt: more.runAt ?? null };
  const plan = planSchedule(
    {
      cron: times.cron,
      every_seconds: times.everySeconds,
      run_at: times.runAt,
      timezone: more.timezone ?? 'UTC',
      dst,
      starts_at: more.startsAt ?? null,
      ends_at: more.endsAt ?? null,
      created_at: at,
    },
    at,
  );
  return within(db, place, (tx) =>
    createSchedule(tx, {
      ...place,
      name: 'Tested',
      description: plan.description,
      timezone: 'UTC',
      dst,
      promptTemplate: 'It is {{ schedule.nominal_at }}',
      inputTemplate: null,
      sessionKeyTemplate: null,
      personaSlugTemplate: null,
      subjectTemplate: null,
      overlap: 'skip',
      catchUpSeconds: 600,
      jitterSeconds: 0,
      startsAt: null,
      endsAt: null,
      pauseAfterFailures: 0,
      isActive: true,
      compiled: plan.compiled,
      nextRunAt: plan.nextRunAt,
      createdByUserId: null,
      toolCallId: null,
      toolId: null,
      at,
      ...times,
      ...more,
    }),
  );
}

export interface OccurrenceRow {
  readonly id: string;
  readonly status: string;
  readonly reason: string | null;
  readonly run_id: string | null;
  readonly nominal_at: string;
}

export function occurrencesOf(db: Databases, scheduleId: string): Promise<OccurrenceRow[]> {
  return sweep(db, (em) =>
    rows<OccurrenceRow>(
      em,
      'select id, status, reason, run_id, nominal_at from schedule_occurrences where schedule_id = ? order by nominal_at, id',
      [scheduleId],
    ),
  );
}

export async function scheduleRow(db: Databases, scheduleId: string): Promise<Record<string, unknown>> {
  return (await sweep(db, (em) => row<Record<string, unknown>>(em, 'select * from schedules where id = ?', [scheduleId]))) ?? {};
}
