import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { alertsAStatement, deliveriesAStatement, eraseAlerts, eraseDeliveries } from '../../db/alerts/alert-retention.ts';
import type { Databases } from '../../db/databases.ts';
import { sweep } from '../../db/transaction.ts';

/** What went by age. */
export interface ErasedNotices {
  readonly deliveries: number;
  readonly alerts: number;
}

/**
 * Deletes notices of alerts past the `delivery_retention_days` of their organization that were sent or given up, and alerts that were resolved 400 days ago.
 * Those under way and alerts that are open stay. Batches, each a transaction of its own: whoever is killed goes on at the next time.
 */
export async function eraseOldNotices(db: Databases, signal: AbortSignal): Promise<ErasedNotices> {
  return {
    deliveries: await inBatches(db, { signal, size: deliveriesAStatement, erase: eraseDeliveries }),
    alerts: await inBatches(db, { signal, size: alertsAStatement, erase: eraseAlerts }),
  };
}

interface Batches {
  readonly signal: AbortSignal;
  readonly size: number;
  readonly erase: (em: SqlEntityManager) => Promise<number>;
}

async function inBatches(db: Databases, { signal, size, erase }: Batches): Promise<number> {
  let total = 0;
  for (let count = size; count === size; total += count) {
    signal.throwIfAborted();
    count = await sweep(db, erase);
  }
  return total;
}
