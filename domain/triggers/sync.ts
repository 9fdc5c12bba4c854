import { databaseTime } from '../../db/database-time.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';
import type { ScheduleRow } from '../../db/triggers/schedules.ts';
import { storeInstants, storeSynced, storeUnsynced, syncSchedule } from '../../db/triggers/write-schedules.ts';

/** Notes that Temporal did not take what a version of the row says; the try after it goes on. */
export async function markUnsynced(tx: TenantTransaction, id: string, version: number): Promise<void> {
  await storeUnsynced(tx, id, version);
}

/** Notes that Temporal's schedule is as a version of the row says; false when the row has a newer one. */
export function markSynced(tx: TenantTransaction, id: string, version: number): Promise<boolean> {
  return storeSynced(tx, id, version);
}

/** Sends the sync of a schedule again; once a minute. */
export async function syncAgain(tx: TenantTransaction, schedule: ScheduleRow): Promise<void> {
  await syncSchedule(tx, schedule, `:${Math.floor((await databaseTime(tx.em)).getTime() / 60_000)}`);
}

/** Stores a schedule's instants computed anew, and has them sent. */
export async function storeCompiled(tx: TenantTransaction, schedule: ScheduleRow, compiled: object): Promise<void> {
  await storeInstants(tx, schedule.id, compiled);
  await syncSchedule(tx, { ...schedule, version: schedule.version + 1 });
}
