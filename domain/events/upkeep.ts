import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { resendFanOuts } from '../../db/events/upkeep.ts';

/** Restarts fan-outs whose workflows Temporal may have lost; returns how many. Uses the sweeper's pool. */
export function restartLostFanOuts(em: SqlEntityManager): Promise<number> {
  return resendFanOuts(em);
}
