import type { RunState } from '../runs/run-state.ts';
import { row, rows } from '../sql.ts';
import type { Unit } from '../unit.ts';
import { noteEnd, readLive, settle, startOutcome } from './occurrences.ts';
import { lockSchedule, type ScheduleRow } from './schedules.ts';
import type { RenderedStart } from './start-scheduled.ts';

/**
 * Closes the occurrence of a run in the transaction that ends it, and starts the one that was buffered behind it. Nothing for a run that no
 * schedule has started, at no cost.
 */
export async function closeOccurrenceOf(unit: Unit, run: RunState, status: 'succeeded' | 'failed' | 'cancelled'): Promise<void> {
  if (run.source !== 'schedule' || run.trigger_id === null) return;
  const [closed] = await rows<{ id: string; schedule_id: string }>(
    unit.em,
    `update schedule_occurrences set status = ?, finished_at = now() where run_id = ? and status = 'started' returning id, schedule_id`,
    [status, run.id],
  );
  if (!closed) return;
  const schedule = await lockSchedule(unit, closed.schedule_id);
  if (status !== 'cancelled') await noteEnd(unit, { occurrenceId: closed.id, isFailed: status === 'failed' });
  if (!schedule || (await readLive(unit, schedule.id)).started.length > 0) return;
  await startBuffered(unit, schedule, run.usage_own.currency);
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
  await settle(unit, buffered.id, await startOutcome(unit, schedule, { rendered: buffered.rendered, renderFault: null, currency }), now);
}
