import { Failure } from '../../workflows/contracts/failure.ts';
import { databaseTime } from '../../db/database-time.ts';
import type { RunState } from '../../db/runs/run-state.ts';
import { wakeBackfills } from '../../db/schedules/wake-backfills.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';
import { emitOccurrence, recordEnd, readLive, settle, type Outcome, closeOccurrence, readBuffered } from '../../db/triggers/occurrences.ts';
import { lockSchedule, type ScheduleRow } from '../../db/triggers/schedules.ts';
import { startOutcome } from './start-scheduled.ts';

/**
 * Closes the occurrence of a run in the transaction that ends it, and starts the occurrence buffered behind it, or wakes the backfill that waits for it. Does
 * nothing, at no cost, for a run that no schedule has started.
 */
export async function closeOccurrenceOf(tx: TenantTransaction, run: RunState, status: 'succeeded' | 'failed' | 'cancelled'): Promise<void> {
  if (run.source !== 'schedule' || run.trigger_id === null) return;
  const closed = await closeOccurrence(tx, run.id, status);
  if (!closed) return;
  const schedule = await lockSchedule(tx, closed.scheduleId);
  if (!schedule) return;
  const now = await databaseTime(tx.em);
  const ended = { occurrenceId: closed.id, status, runId: run.id, now };
  if (status === 'failed') await emitOccurrence(tx, schedule, ended);
  if (closed.kind === 'backfill') return wakeBackfills(tx, schedule, closed.id);
  if (status !== 'cancelled') await recordEnd(tx, { occurrenceId: closed.id, isFailed: status === 'failed', now });
  if ((await readLive(tx, schedule.id)).started.length > 0) return;
  await startBuffered(tx, schedule, { currency: run.usage_own.currency, now });
}

async function startBuffered(
  tx: TenantTransaction,
  schedule: ScheduleRow,
  { currency, now }: { readonly currency: string; readonly now: Date },
): Promise<void> {
  const buffered = await readBuffered(tx, schedule.id);
  if (!buffered) return;
  const { id: occurrenceId, rendered } = buffered;
  const outcome =
    schedule.deletedAt === null
      ? await startOrFail(tx, schedule, { rendered, renderFault: null, currency })
      : ({ status: 'cancelled', reason: 'schedule_deleted' } as const);
  await settle(tx, schedule, { occurrenceId, outcome, now });
}

/** A retryable failure must not keep a run from ending: the start fails instead. */
async function startOrFail(tx: TenantTransaction, schedule: ScheduleRow, start: Parameters<typeof startOutcome>[2]): Promise<Outcome> {
  try {
    return await startOutcome(tx, schedule, start);
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    const reason: unknown = error.context['reason'];
    return { status: 'failed', reason: typeof reason === 'string' ? reason : error.code };
  }
}
