import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { identitySweeps, sweepIdentity } from '../../../db/identity/sessions/sweep.ts';

/** What nobody can use any more, kind by kind in the order in which it goes. `deleteSome` deletes at most `limit` rows and gives how many. Sweeper's pool. */
export const identityUpkeep = identitySweeps.map((what) => ({
  what,
  deleteSome: (em: SqlEntityManager, limit: number): Promise<number> => sweepIdentity(em, what, limit),
}));
