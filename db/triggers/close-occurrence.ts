import type { RunState } from '../runs/run-state.ts';
import { row, rows } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';
import { noteEnd, readLive, settle, startOutcome } from './occurrences.ts';
import { lockSchedule, type ScheduleRow } from './schedules.ts';
import type { RenderedStart } from './start-scheduled.ts';

/**
 * Closes the occurrence of a run in the transaction that ends it, and starts the one that was buffered behind it. Nothing for a run that no
 * schedule has started, at no cost.
 */
export async function closeOccurrenceOf(tx: TenantTransaction, run: RunState, status: 'succeeded' | 'failed' | 'cancelled'): Promise<void> {
  if (run.source !== 'schedule' || run.trigger_id === null) return;
  const [closed] = await rows<{ id: string; schedule_id: string }>(
    tx.em,
    `update schedule_occurrences set status = ?, finished_at = now() where run_id = ? and status = 'started' returning id, schedule_id`,
    [status, run.id],
  );
  if (!closed) return;
  const schedule = await lockSchedule(tx, closed.schedule_id);
  if (status !== 'cancelled') await noteEnd(tx, { occurrenceId: closed.id, isFailed: status === 'failed' });
  if (!schedule || (await readLive(tx, schedule.id)).started.length > 0) return;
  await startBuffered(tx, schedule, run.usage_own.currency);
}

async function startBuffered(tx: TenantTransaction, schedule: ScheduleRow, currency: string): Promise<void> {
  const buffered = await row<{ id: string; rendered: RenderedStart | null }>(
    tx.em,
    "select o.id, o.rendered from schedule_occurrences o where o.schedule_id = ? and o.status = 'buffered' order by o.nominal_at desc limit 1",
    [schedule.id],
  );
  if (!buffered) return;
  const now = new Date();
  if (schedule.deleted_at !== null) return settle(tx, buffered.id, { status: 'cancelled', reason: 'schedule_deleted' }, now);
  await settle(tx, buffered.id, await startOutcome(tx, schedule, { rendered: buffered.rendered, renderFault: null, currency }), now);
}
