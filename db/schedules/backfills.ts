import { query } from '../query.ts';
import { change } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';
import type { BackfillOverlap, BackfillStatus } from './schedule-backfill.entity.ts';
import { wakeBackfill, type SchedulePlace } from './wake-backfills.ts';

/** A backfill to be stored. */
export interface NewBackfill {
  readonly id: string;
  /** Both inclusive. */
  readonly from: Date;
  readonly to: Date;
  readonly overlap: BackfillOverlap;
  readonly planned: number;
  readonly alreadyRun: number;
  readonly at: Date;
}

/** Stores a backfill, whose work begins after the commit. */
export async function insertBackfill(tx: TenantTransaction, schedule: SchedulePlace, backfill: NewBackfill): Promise<void> {
  await change(
    tx.em,
    query.insertInto('schedule_backfills').values({
      id: backfill.id,
      organizationId: schedule.organizationId,
      workspaceId: schedule.workspaceId,
      scheduleId: schedule.id,
      rangeFrom: backfill.from,
      rangeTo: backfill.to,
      overlap: backfill.overlap,
      planned: backfill.planned,
      alreadyRun: backfill.alreadyRun,
      status: 'queued',
      reached: new Date(backfill.from.getTime() - 1),
      started: 0,
      failed: 0,
      createdAt: backfill.at,
      finishedAt: null,
    }),
  );
  await wakeBackfill(tx, schedule, { backfillId: backfill.id, occasion: 'made' });
}

/** Records the progress of a locked backfill. */
export async function moveBackfill(
  tx: Pick<TenantTransaction, 'em'>,
  id: string,
  to: { readonly reached: Date; readonly started: number; readonly failed: number },
): Promise<void> {
  await change(
    tx.em,
    query
      .updateTable('schedule_backfills')
      .where('id', '=', id)
      .set((eb) => ({
        status: 'running',
        reached: to.reached,
        started: eb('started', '+', to.started),
        failed: eb('failed', '+', to.failed),
      })),
  );
}

/** Ends a backfill that has not ended. */
export async function endBackfill(
  tx: Pick<TenantTransaction, 'em'>,
  id: string,
  end: { readonly status: Extract<BackfillStatus, 'done' | 'cancelled'>; readonly now: Date },
): Promise<void> {
  await change(
    tx.em,
    query
      .updateTable('schedule_backfills')
      .where('id', '=', id)
      .where('status', 'in', ['queued', 'running'])
      .set({ status: end.status, finishedAt: end.now }),
  );
}

/** Cancels the backfills of a schedule that have not ended: they start nothing more. */
export async function cancelBackfills(tx: Pick<TenantTransaction, 'em'>, scheduleId: string, now: Date): Promise<void> {
  await change(
    tx.em,
    query
      .updateTable('schedule_backfills')
      .where('scheduleId', '=', scheduleId)
      .where('status', 'in', ['queued', 'running'])
      .set({ status: 'cancelled', finishedAt: now }),
  );
}
