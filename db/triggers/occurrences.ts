import { sql } from 'kysely';
import { prepared, type ParametersOf } from '../prepared.ts';
import { query } from '../query.ts';
import { change, row, rows } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';
import { emitEvent } from './events.ts';
import type { OccurrenceStatus, RenderedStart } from './schedule-occurrence.entity.ts';
import type { scheduleSyncStates } from './schedule.entity.ts';
import { syncSchedule } from './write-schedules.ts';
import type { ScheduleRow } from './schedules.ts';
import type { Failure } from '../../workflows/contracts/failure.ts';

/** In the text, so that the partial index of open occurrences serves. */
const started = sql.lit<OccurrenceStatus>('started');
const buffered = sql.lit<OccurrenceStatus>('buffered');

/** Occurrences of a schedule that have not ended. */
export interface Live {
  readonly started: { readonly id: string; readonly runId: string | null }[];
  readonly buffered: string | null;
}

/** The outcome of an instant. */
export interface Outcome {
  readonly status: OccurrenceStatus;
  readonly runId?: string;
  readonly reason?: string;
  readonly rendered?: RenderedStart;
  /** For a start that was refused. */
  readonly failure?: Failure;
}

/** Returns the instant of a manual firing of a locked schedule: `at`, or the next free millisecond. */
export async function nextManualInstant(tx: TenantTransaction, scheduleId: string, at: Date): Promise<Date> {
  const last = await row(
    tx.em,
    query
      .selectFrom('schedule_occurrences')
      .where('scheduleId', '=', scheduleId)
      .where('kind', '=', 'manual')
      .select(({ fn }) => fn.max<string | null>('nominalAt').as('at')),
  );
  return last?.at ? new Date(Math.max(at.getTime(), new Date(last.at).getTime() + 1)) : at;
}

/** Stores the outcome of an instant of a schedule, with its event. */
export async function settle(
  tx: TenantTransaction,
  schedule: Pick<ScheduleRow, 'id' | 'organizationId' | 'workspaceId'>,
  { occurrenceId, outcome, now }: { readonly occurrenceId: string; readonly outcome: Outcome; readonly now: Date },
): Promise<void> {
  const isOver = outcome.status !== 'started' && outcome.status !== 'buffered';
  await change(
    tx.em,
    query
      .updateTable('schedule_occurrences')
      .set({
        status: outcome.status,
        runId: outcome.runId ?? null,
        reason: outcome.reason ?? null,
        rendered: outcome.rendered ?? null,
        startedAt: outcome.status === 'started' ? now : null,
        finishedAt: isOver ? now : null,
      })
      .where('id', '=', occurrenceId),
  );
  if (outcome.status === 'missed' || outcome.status === 'failed') await emitOccurrence(tx, schedule, { occurrenceId, ...outcome, now });
  if (outcome.status === 'failed') await recordEnd(tx, { occurrenceId, isFailed: true, now });
}

/** Emits the event of an occurrence that was missed or has failed; ids only. */
export async function emitOccurrence(
  tx: TenantTransaction,
  schedule: Pick<ScheduleRow, 'id' | 'organizationId' | 'workspaceId'>,
  occurred: { readonly occurrenceId: string; readonly status: string; readonly runId?: string; readonly now: Date },
): Promise<void> {
  const { occurrenceId, status, runId, now } = occurred;
  await emitEvent(tx, {
    organizationId: schedule.organizationId,
    workspaceId: schedule.workspaceId,
    eventKind: `schedule.${status}`,
    source: 'platform',
    payload: { schedule_id: schedule.id, occurrence_id: occurrenceId, ...(runId === undefined ? {} : { run_id: runId }) },
    occurredAt: now,
    ...(runId === undefined ? {} : { causeRunId: runId }),
  });
}

/** Returns the regular and manual occurrences of a schedule that run or wait; those of backfills run independently of them. */
export async function readLive(tx: TenantTransaction, scheduleId: string): Promise<Live> {
  const found = await rows(
    tx.em,
    query
      .selectFrom('schedule_occurrences')
      .where('scheduleId', '=', scheduleId)
      .where('status', 'in', [started, buffered])
      .where('kind', '<>', 'backfill')
      .select(['id', 'status', 'runId']),
  );
  return {
    started: found.filter(({ status }) => status === 'started'),
    buffered: found.find(({ status }) => status === 'buffered')?.id ?? null,
  };
}

/** Cancels the buffered occurrence of a schedule that is deleted. */
export async function cancelBuffered(tx: TenantTransaction, scheduleId: string, now: Date): Promise<void> {
  await change(
    tx.em,
    query
      .updateTable('schedule_occurrences')
      .set({ status: 'cancelled', reason: 'schedule_deleted', finishedAt: now })
      .where('scheduleId', '=', scheduleId)
      .where('status', '=', buffered),
  );
}

const countedEnd = prepared(
  ({ occurrenceId, isFailed }: ParametersOf<{ readonly occurrenceId: string; readonly isFailed: true | undefined }>) =>
    query
      .with('counted', (of) =>
        of
          .selectFrom('schedule_occurrences as o')
          .innerJoin('schedules as s', 's.id', 'o.scheduleId')
          .where('o.id', '=', occurrenceId)
          .where('o.kind', '<>', 'backfill')
          .select(['s.id', 's.isActive', 's.pauseAfterFailures as most'])
          .select((isFailed ? sql<number>`s.failure_streak + 1` : sql<number>`0`).as('streak'))
          .forNoKeyUpdate('s'),
      )
      .with('judged', (of) =>
        of
          .selectFrom('counted as c')
          .select(['c.id', 'c.streak', sql<boolean>`c.is_active and c.most > 0 and c.streak >= c.most`.as('pauses')]),
      )
      .updateTable('schedules')
      .from('judged as j')
      .set(({ ref }) => ({
        failureStreak: ref('j.streak'),
        isActive: sql<boolean>`schedules.is_active and not j.pauses`,
        pauseReason: sql<string | null>`case when j.pauses then 'failures' else schedules.pause_reason end`,
        syncState: sql<(typeof scheduleSyncStates)[number]>`case when j.pauses then 'pending' else schedules.sync_state end`,
        version: sql<number>`schedules.version + j.pauses::int`,
        updatedAt: sql<string>`case when j.pauses then now() else schedules.updated_at end`,
      }))
      .whereRef('schedules.id', '=', 'j.id')
      .where(({ eb, ref, or }) => or([eb('j.pauses', '=', sql.lit(true)), eb('schedules.failureStreak', '<>', ref('j.streak'))]))
      .returning(['schedules.id', 'schedules.organizationId', 'schedules.workspaceId', 'schedules.version', 'j.pauses']),
);

/** Consecutive failures pause a schedule that is configured so; a success resets their count. Backfills count for neither. */
export async function recordEnd(
  tx: TenantTransaction,
  { occurrenceId, isFailed, now }: { readonly occurrenceId: string; readonly isFailed: boolean; readonly now: Date },
): Promise<void> {
  const counted = await row(tx.em, countedEnd({ occurrenceId, isFailed: isFailed || undefined }));
  if (counted?.pauses !== true) return;
  await syncSchedule(tx, counted);
  await emitPaused(tx, counted, now);
}

/** Emits the event of a schedule that was paused. */
export async function emitPaused(
  tx: TenantTransaction,
  schedule: Pick<ScheduleRow, 'id' | 'organizationId' | 'workspaceId'>,
  now: Date,
): Promise<void> {
  await emitEvent(tx, {
    organizationId: schedule.organizationId,
    workspaceId: schedule.workspaceId,
    eventKind: 'schedule.paused',
    source: 'platform',
    payload: { schedule_id: schedule.id },
    occurredAt: now,
  });
}

/** Closes the occurrence that a run was started for; returns null when none is open. */
export function closeOccurrence(tx: TenantTransaction, runId: string, status: 'succeeded' | 'failed' | 'cancelled') {
  return row(
    tx.em,
    query
      .updateTable('schedule_occurrences')
      .set({ status, finishedAt: sql<string>`now()` })
      .where('runId', '=', runId)
      .where('status', '=', started)
      .returning(['id', 'scheduleId', 'kind']),
  );
}

/** Returns the newest occurrence of a schedule that waits for the previous one. */
export function readBuffered(tx: TenantTransaction, scheduleId: string) {
  return row(
    tx.em,
    query
      .selectFrom('schedule_occurrences')
      .where('scheduleId', '=', scheduleId)
      .where('status', '=', buffered)
      .select(['id', 'rendered'])
      .orderBy('nominalAt', 'desc')
      .limit(1),
  );
}

/** Whether a run can still be cancelled. */
export async function isLiveRun(tx: TenantTransaction, runId: string): Promise<boolean> {
  const live = query.selectFrom('runs').where('id', '=', runId).where('status', 'in', ['queued', 'running', 'waiting']).select('id');
  return (await row(tx.em, live)) !== null;
}
