import { databaseTime } from '../../db/database-time.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';
import { emitPaused } from '../../db/triggers/occurrences.ts';
import { storePauseOfAgent, storePauseOfPlace, storeResumeOfPlace } from '../../db/triggers/pause.ts';
import { syncSchedule } from '../../db/triggers/write-schedules.ts';

/** Pauses the schedules of a deleted agent, with the reason. */
export async function pauseSchedulesOfAgent(tx: TenantTransaction, agentId: string): Promise<void> {
  const paused = await storePauseOfAgent(tx, agentId);
  const now = paused.length === 0 ? null : await databaseTime(tx.em);
  for (const schedule of paused) {
    await syncSchedule(tx, schedule);
    if (now !== null) await emitPaused(tx, schedule, now);
  }
}

/** Pauses the schedules in the transaction's tenant, which is stopped. */
export async function pauseSchedulesOfPlace(tx: TenantTransaction, reason: string): Promise<void> {
  for (const schedule of await storePauseOfPlace(tx, reason)) await syncSchedule(tx, schedule);
}

/** Resumes schedules that were paused for a stop where their workspace works again; what they missed is not caught up. */
export async function resumeSchedulesOfPlace(tx: TenantTransaction, reasons: readonly string[]): Promise<void> {
  for (const schedule of await storeResumeOfPlace(tx, reasons)) await syncSchedule(tx, schedule);
}
