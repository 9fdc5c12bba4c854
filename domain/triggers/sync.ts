import { databaseTime } from '../../db/database-time.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';
import type { ScheduleRow } from '../../db/triggers/schedules.ts';
import { storeInstants, storeSynced, storeUnsynced, syncSchedule } from '../../db/triggers/write-schedules.ts';

/** Records that Temporal did not accept a version of the row; the next try continues. */
export async function markUnsynced(tx: TenantTransaction, id: string, version: number): Promise<void> {
  await storeUnsynced(tx, id, version);
}

/** Records that Temporal's schedule matches a version of the row; returns false when the row has a newer one. */
export function markSynced(tx: TenantTransaction, id: string, version: number): Promise<boolean> {
  return storeSynced(tx, id, version);
}

/** Sends the sync of a schedule again, at most once a minute. */
export async function syncAgain(tx: TenantTransaction, schedule: ScheduleRow): Promise<void> {
  await syncSchedule(tx, schedule, `:${Math.floor((await databaseTime(tx.em)).getTime() / 60_000)}`);
}

/** Stores a schedule's recomputed instants, and sends them to Temporal. */
export async function storeCompiled(tx: TenantTransaction, schedule: ScheduleRow, compiled: object): Promise<void> {
  await storeInstants(tx, schedule.id, compiled);
  await syncSchedule(tx, { ...schedule, version: schedule.version + 1 });
}
