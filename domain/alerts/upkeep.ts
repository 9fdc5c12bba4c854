import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { resendDeliveries, sweepResolvedAlerts } from '../../db/alerts/upkeep.ts';
import { deliveriesAStatement, eraseDeliveries } from '../../db/alerts/alert-retention.ts';
import type { Databases } from '../../db/databases.ts';
import { sweep } from '../../db/transaction.ts';
import { followedTime } from '../../db/database-clock.ts';
import { emitAlert } from '../../db/alerts/emit.ts';
import type { EndedBudgetAlert } from '../../db/alerts/ended-windows.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';

/** Deletes at most `limit` alerts that were resolved more than 400 days ago, with their changes and notices; returns how many. Uses the sweeper's pool. */
export function sweepAlerts(em: SqlEntityManager, limit: number): Promise<number> {
  return sweepResolvedAlerts(em, limit);
}

/** Restarts deliveries whose workflows Temporal may have lost; returns how many. Uses the sweeper's pool. */
export function restartLostDeliveries(em: SqlEntityManager): Promise<number> {
  return resendDeliveries(em);
}

/**
 * Deletes notices of alerts past the `delivery_retention_days` of their organization that were sent or given up; those under way stay. Works in batches, each a
 * transaction of its own: after a kill the next pass continues. Returns how many.
 */
export async function eraseOldNotices(db: Databases, signal: AbortSignal): Promise<number> {
  let total = 0;
  for (let count = deliveriesAStatement; count === deliveriesAStatement; total += count) {
    signal.throwIfAborted();
    count = await sweep(db, eraseDeliveries);
  }
  return total;
}

/** Ends the alert of a budget whose window has ended. Notifies no target, since the next window has begun. An alert that is no longer open stays as it is. */
export async function endWindowAlert(tx: TenantTransaction, { alertId, ...rule }: EndedBudgetAlert): Promise<void> {
  await emitAlert(tx, rule, { event: 'resolved', alertId, resolution: 'window_ended' }, followedTime(tx.em));
}
