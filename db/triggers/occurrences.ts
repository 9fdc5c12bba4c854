import { sql } from 'kysely';
import { newId } from '../ids.ts';
import { query } from '../query.ts';
import { change, row, rows } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';
import { emitEvent } from './events.ts';
import type { MovedSchedule } from './pause.ts';
import type { OccurrenceStatus, RenderedStart } from './schedule-occurrence.entity.ts';
import { syncSchedule } from './write-schedules.ts';
import type { ScheduleRow } from './schedules.ts';
import type { Failure } from '../../workflows/contracts/failure.ts';

/** In the text, so that the partial index of open occurrences serves. */
const started = sql.lit<OccurrenceStatus>('started');
const buffered = sql.lit<OccurrenceStatus>('buffered');

/** One instant as the evaluator returns it. */
export interface Instant {
  readonly kind: 'regular' | 'manual' | 'backfill';
  /** Of kind `backfill`: which one. */
  readonly backfillId?: string;
  readonly nominalAt: Date;
  readonly localTime: string;
  readonly shiftedFrom: string | null;
  /** The second occurrence of a repeated wall time, which does not fire. */
  readonly isSkipped: boolean;
}

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

/**
 * Claims an instant of a locked schedule: returns the id of its row, or null when it is already claimed. A backfill takes over an instant that started no run
 * in an earlier backfill; an instant that a backfill has started is not started again when its regular time is caught up with, nor the other way round.
 */
export async function claim(tx: TenantTransaction, schedule: ScheduleRow, instant: Instant, overlap: string): Promise<string | null> {
  const claimed = await row<{ id: string }>(
    tx.em,
    `insert into schedule_occurrences (id, organization_id, workspace_id, schedule_id, kind, nominal_at, local_time, shifted_from, status, overlap, backfill_id, created_at)
     select ?, ?, ?, ?::uuid, ?, ?::timestamptz, ?, ?, 'missed', ?, ?::uuid, clock_timestamp()
      where not exists (select from schedule_occurrences x where x.schedule_id = ?::uuid and x.nominal_at = ?::timestamptz and ? <> 'manual'
        and x.kind <> 'manual' and x.kind <> ? and (x.run_id is not null or x.status = 'buffered'))
     on conflict (schedule_id, kind, nominal_at) do update set backfill_id = excluded.backfill_id, overlap = excluded.overlap, reason = null
       where schedule_occurrences.kind = 'backfill' and schedule_occurrences.run_id is null and schedule_occurrences.backfill_id <> excluded.backfill_id
     returning id`,
    [
      newId(),
      schedule.organizationId,
      schedule.workspaceId,
      schedule.id,
      instant.kind,
      instant.nominalAt,
      instant.localTime,
      instant.shiftedFrom,
      overlap,
      instant.backfillId ?? null,
      schedule.id,
      instant.nominalAt,
      instant.kind,
      instant.kind,
    ],
  );
  return claimed?.id ?? null;
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
  if (outcome.status === 'failed') await noteEnd(tx, { occurrenceId, isFailed: true, now });
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

/** Consecutive failures pause a schedule that is configured so; a success resets their count. Backfills count for neither. */
export async function noteEnd(
  tx: TenantTransaction,
  { occurrenceId, isFailed, now }: { readonly occurrenceId: string; readonly isFailed: boolean; readonly now: Date },
): Promise<void> {
  const [paused] = await rows<MovedSchedule & { paused: boolean }>(
    tx.em,
    `with counted as (
       select s.id, case when ?::boolean then s.failure_streak + 1 else 0 end as streak, s.pause_after_failures as most, s.is_active
         from schedule_occurrences o join schedules s on s.id = o.schedule_id where o.id = ? and o.kind <> 'backfill' for no key update of s
     ), judged as (select c.*, c.is_active and c.most > 0 and c.streak >= c.most as pauses from counted c)
     update schedules s set failure_streak = j.streak, is_active = s.is_active and not j.pauses,
       pause_reason = case when j.pauses then 'failures' else s.pause_reason end,
       sync_state = case when j.pauses then 'pending' else s.sync_state end,
       version = s.version + j.pauses::int, updated_at = case when j.pauses then now() else s.updated_at end
      from judged j where s.id = j.id and (j.pauses or s.failure_streak <> j.streak)
     returning s.id, s.organization_id as "organizationId", s.workspace_id as "workspaceId", s.version, j.pauses as paused`,
    [isFailed, occurrenceId],
  );
  if (paused?.paused !== true) return;
  await syncSchedule(tx, paused);
  await emitPaused(tx, paused, now);
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
