import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { resendDeliveries, sweepResolvedAlerts } from '../../db/alerts/upkeep.ts';

/** Deletes at most `limit` alerts that were resolved more than 400 days ago, with their changes and notices; gives how many. Sweeper's pool. */
export function sweepAlerts(em: SqlEntityManager, limit: number): Promise<number> {
  return sweepResolvedAlerts(em, limit);
}

/** Has deliveries started again whose workflows Temporal may have lost; gives how many. Sweeper's pool. */
export function restartLostDeliveries(em: SqlEntityManager): Promise<number> {
  return resendDeliveries(em);
}
