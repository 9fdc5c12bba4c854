import { newId } from '../ids.ts';
import { rows } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';
import type { OccurrenceStatus } from './schedule-occurrence.entity.ts';
import { syncSchedule, type ScheduleRow } from './schedules.ts';
import { startScheduled, type RenderedStart } from './start-scheduled.ts';

/** One instant as the evaluator gives it. */
export interface Instant {
  readonly kind: 'regular' | 'manual';
  readonly nominalAt: Date;
  readonly localTime: string;
  readonly shiftedFrom: string | null;
  /** The second of a repeated wall time, which is left out. */
  readonly isSkipped: boolean;
}

/** What of a schedule has not ended. */
export interface Live {
  readonly started: { readonly id: string; readonly run_id: string | null }[];
  readonly buffered: string | null;
}

/** What came of an instant. */
export interface Outcome {
  readonly status: OccurrenceStatus;
  readonly runId?: string;
  readonly reason?: string;
  readonly rendered?: RenderedStart;
}

/** Claims an instant: the id of its row, null when somebody has it already. */
export async function claim(tx: TenantTransaction, schedule: ScheduleRow, instant: Instant): Promise<string | null> {
  const id = newId();
  const claimed = await rows(
    tx.em,
    `insert into schedule_occurrences (id, organization_id, workspace_id, schedule_id, kind, nominal_at, local_time, shifted_from, status, overlap, created_at)
     values (?, ?, ?, ?, ?, ?, ?, ?, 'missed', ?, now()) on conflict (schedule_id, kind, nominal_at) do nothing returning id`,
    [
      id,
      schedule.organization_id,
      schedule.workspace_id,
      schedule.id,
      instant.kind,
      instant.nominalAt,
      instant.localTime,
      instant.shiftedFrom,
      schedule.overlap,
    ],
  );
  return claimed.length > 0 ? id : null;
}

/** Writes what came of an instant. */
export async function settle(tx: TenantTransaction, occurrenceId: string, outcome: Outcome, now: Date): Promise<void> {
  const isOver = outcome.status !== 'started' && outcome.status !== 'buffered';
  await rows(
    tx.em,
    `update schedule_occurrences set status = ?, run_id = ?::uuid, reason = ?, rendered = ?::jsonb, started_at = ?::timestamptz, finished_at = ?::timestamptz where id = ?`,
    [
      outcome.status,
      outcome.runId ?? null,
      outcome.reason ?? null,
      outcome.rendered === undefined ? null : JSON.stringify(outcome.rendered),
      outcome.status === 'started' ? now : null,
      isOver ? now : null,
      occurrenceId,
    ],
  );
  if (outcome.status === 'failed') await noteEnd(tx, { occurrenceId, isFailed: true });
}

/** Occurrences of a schedule that run or wait. */
export async function readLive(tx: TenantTransaction, scheduleId: string): Promise<Live> {
  const found = await rows<{ id: string; status: string; run_id: string | null }>(
    tx.em,
    "select o.id, o.status, o.run_id from schedule_occurrences o where o.schedule_id = ? and o.status in ('started', 'buffered')",
    [scheduleId],
  );
  return {
    started: found.filter(({ status }) => status === 'started'),
    buffered: found.find(({ status }) => status === 'buffered')?.id ?? null,
  };
}

/** Failures in a row pause a schedule that says so; a success forgets them. */
export async function noteEnd(
  tx: TenantTransaction,
  { occurrenceId, isFailed }: { readonly occurrenceId: string; readonly isFailed: boolean },
): Promise<void> {
  const [paused] = await rows<Pick<ScheduleRow, 'id' | 'organization_id' | 'workspace_id' | 'version'> & { paused: boolean }>(
    tx.em,
    `with counted as (
       select s.id, case when ?::boolean then s.failure_streak + 1 else 0 end as streak, s.pause_after_failures as most, s.is_active
         from schedule_occurrences o join schedules s on s.id = o.schedule_id where o.id = ? for no key update of s
     ), judged as (select c.*, c.is_active and c.most > 0 and c.streak >= c.most as pauses from counted c)
     update schedules s set failure_streak = j.streak, is_active = s.is_active and not j.pauses,
       pause_reason = case when j.pauses then 'failures' else s.pause_reason end,
       sync_state = case when j.pauses then 'pending' else s.sync_state end,
       version = s.version + j.pauses::int, updated_at = case when j.pauses then now() else s.updated_at end
      from judged j where s.id = j.id and (j.pauses or s.failure_streak <> j.streak)
     returning s.id, s.organization_id, s.workspace_id, s.version, j.pauses as paused`,
    [isFailed, occurrenceId],
  );
  if (paused?.paused === true) await syncSchedule(tx, paused);
}

/** Starts the run of an instant whose templates are filled; null with the reason when they could not be. */
export async function startOutcome(
  tx: TenantTransaction,
  schedule: ScheduleRow,
  start: { readonly rendered: RenderedStart | null; readonly renderFault: string | null; readonly currency: string },
): Promise<Outcome> {
  const { rendered, renderFault, currency } = start;
  if (rendered === null) return { status: 'failed', reason: renderFault ?? 'template' };
  const started = await startScheduled(tx, schedule, { rendered, currency });
  return 'runId' in started ? { status: 'started', runId: started.runId } : { status: 'failed', reason: started.reason };
}

/** Notes instants that nobody fired in time, so that each has a row; those that have one are left. */
export async function noteMissed(tx: TenantTransaction, schedule: ScheduleRow, instants: readonly Instant[]): Promise<void> {
  for (const instant of instants) {
    const id = await claim(tx, schedule, instant);
    if (id !== null) await settle(tx, id, { status: instant.isSkipped ? 'skipped_dst' : 'missed', reason: 'never_fired' }, new Date());
  }
}
