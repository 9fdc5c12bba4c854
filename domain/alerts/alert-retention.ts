import { deliveriesAStatement, eraseDeliveries } from '../../db/alerts/alert-retention.ts';
import type { Databases } from '../../db/databases.ts';
import { sweep } from '../../db/transaction.ts';

/**
 * Deletes notices of alerts past the `delivery_retention_days` of their organization that were sent or given up; those under way stay. Batches, each a
 * transaction of its own: whoever is killed goes on at the next time. Gives how many.
 */
export async function eraseOldNotices(db: Databases, signal: AbortSignal): Promise<number> {
  let total = 0;
  for (let count = deliveriesAStatement; count === deliveriesAStatement; total += count) {
    signal.throwIfAborted();
    count = await sweep(db, eraseDeliveries);
  }
  return total;
}
