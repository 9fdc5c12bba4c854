import { expect } from '@jest/globals';
import { newId } from '../../db/ids.ts';
import type { Databases } from '../../db/databases.ts';
import { sweep, systemActor, transact, workspaceTenant } from '../../db/transaction.ts';
import { row, rows } from '../../db/sql.ts';
import type { NewSchedule } from '../../db/triggers/write-schedules.ts';
import { createSchedule } from '../../domain/triggers/create-schedule.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';
import { planSchedule } from '../../ports/schedule/plan.ts';
import { until } from '../support/temporal.ts';

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
      everySeconds: times.everySeconds,
      runAt: times.runAt,
      timezone: more.timezone ?? 'UTC',
      dst,
      startsAt: more.startsAt ?? null,
      endsAt: more.endsAt ?? null,
      createdAt: at,
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

/** Waits until a schedule's occurrences have ended, as many as are said; fails with what they are if one has not succeeded. */
export async function untilSucceeded(db: Databases, scheduleId: string, count = 1): Promise<void> {
  let all: OccurrenceRow[] = [];
  const haveEnded = async () => {
    all = await occurrencesOf(db, scheduleId);
    return all.length >= count && all.every(({ status }) => status !== 'buffered' && status !== 'started');
  };
  await until(haveEnded).catch((error: Error) => {
    throw new Error(`${error.message}: ${JSON.stringify(all)}`, { cause: error });
  });
  expect(all).toMatchObject(Array.from({ length: count }, () => ({ status: 'succeeded' })));
}

/** A cron expression that strikes every hour, at a minute that is half an hour away: while the test runs the clock starts nothing. */
export const hourlyCron = () => `${(new Date().getUTCMinutes() + 30) % 60} * * * *`;

/** As `hourlyCron`, six times an hour and five minutes away. */
export function tenMinuteCron(): string {
  const first = (new Date().getUTCMinutes() + 5) % 10;
  return `${Array.from({ length: 6 }, (_, at) => first + 10 * at).join(',')} * * * *`;
}

export async function scheduleRow(db: Databases, scheduleId: string): Promise<Record<string, unknown>> {
  return (await sweep(db, (em) => row<Record<string, unknown>>(em, 'select * from schedules where id = ?', [scheduleId]))) ?? {};
}
