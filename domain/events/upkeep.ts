import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { resendFanOuts } from '../../db/events/upkeep.ts';

/** Has fan-outs started again whose workflows Temporal may have lost; gives how many. Sweeper's pool. */
export function restartLostFanOuts(em: SqlEntityManager): Promise<number> {
  return resendFanOuts(em);
}
