import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { identitySweeps, sweepIdentity } from '../../../db/identity/sessions/sweep.ts';

/**
 * Rows that are no longer usable, by kind, in the order of deletion. `deleteSome` deletes at most `limit` rows and returns how many. Uses the sweeper's pool.
 */
export const identityUpkeep = identitySweeps.map((what) => ({
  what,
  deleteSome: (em: SqlEntityManager, limit: number): Promise<number> => sweepIdentity(em, what, limit),
}));
