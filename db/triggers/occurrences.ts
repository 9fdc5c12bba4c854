import { newId } from '../ids.ts';
import { row, rows } from '../sql.ts';
import type { Unit } from '../unit.ts';
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
export async function claim(unit: Unit, schedule: ScheduleRow, instant: Instant): Promise<string | null> {
  const id = newId();
  const claimed = await rows(
    unit.em,
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
export async function settle(unit: Unit, occurrenceId: string, outcome: Outcome, now: Date): Promise<void> {
  const isOver = outcome.status !== 'started' && outcome.status !== 'buffered';
  await rows(
    unit.em,
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
  if (outcome.status === 'failed') await noteEnd(unit, { occurrenceId, isFailed: true });
}

/** Occurrences of a schedule that run or wait. */
export async function readLive(unit: Unit, scheduleId: string): Promise<Live> {
  const found = await rows<{ id: string; status: string; run_id: string | null }>(
    unit.em,
    "select o.id, o.status, o.run_id from schedule_occurrences o where o.schedule_id = ? and o.status in ('started', 'buffered')",
    [scheduleId],
  );
  return {
    started: found.filter(({ status }) => status === 'started'),
    buffered: found.find(({ status }) => status === 'buffered')?.id ?? null,
  };
}

/** Failures in a row pause a schedule that says so; a success forgets them. */
async function noteEnd(
  unit: Unit,
  { occurrenceId, isFailed }: { readonly occurrenceId: string; readonly isFailed: boolean },
): Promise<void> {
  const [paused] = await rows<Pick<ScheduleRow, 'id' | 'organization_id' | 'workspace_id' | 'version'> & { paused: boolean }>(
    unit.em,
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
  if (paused?.paused === true) await syncSchedule(unit, paused);
}

/** A run of a schedule that has ended. */
export interface EndedRun {
  readonly id: string;
  readonly status: 'succeeded' | 'failed' | 'cancelled';
  readonly currency: string;
}

/** Closes the occurrence of a run in the transaction that ends it, and starts the one that was buffered behind it. */
export async function closeOccurrence(unit: Unit, run: EndedRun, readSchedule: (id: string) => Promise<ScheduleRow | null>): Promise<void> {
  const [closed] = await rows<{ id: string; schedule_id: string }>(
    unit.em,
    `update schedule_occurrences set status = ?, finished_at = now() where run_id = ? and status = 'started' returning id, schedule_id`,
    [run.status, run.id],
  );
  if (!closed) return;
  const schedule = await readSchedule(closed.schedule_id);
  if (run.status !== 'cancelled') await noteEnd(unit, { occurrenceId: closed.id, isFailed: run.status === 'failed' });
  if (!schedule || (await readLive(unit, schedule.id)).started.length > 0) return;
  await startBuffered(unit, schedule, run.currency);
}

async function startBuffered(unit: Unit, schedule: ScheduleRow, currency: string): Promise<void> {
  const buffered = await row<{ id: string; rendered: RenderedStart | null }>(
    unit.em,
    "select o.id, o.rendered from schedule_occurrences o where o.schedule_id = ? and o.status = 'buffered' order by o.nominal_at desc limit 1",
    [schedule.id],
  );
  if (!buffered) return;
  const now = new Date();
  if (schedule.deleted_at !== null) return settle(unit, buffered.id, { status: 'cancelled', reason: 'schedule_deleted' }, now);
  const started =
    buffered.rendered === null ? { reason: 'template' } : await startScheduled(unit, schedule, { rendered: buffered.rendered, currency });
  const outcome: Outcome = 'runId' in started ? { status: 'started', runId: started.runId } : { status: 'failed', reason: started.reason };
  await settle(unit, buffered.id, outcome, now);
}

/** Notes instants that nobody fired in time, so that each has a row; those that have one are left. */
export async function noteMissed(unit: Unit, schedule: ScheduleRow, instants: readonly Instant[]): Promise<void> {
  for (const instant of instants) {
    const id = await claim(unit, schedule, instant);
    if (id !== null) await settle(unit, id, { status: instant.isSkipped ? 'skipped_dst' : 'missed', reason: 'never_fired' }, new Date());
  }
}
