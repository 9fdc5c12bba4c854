import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { change } from '../sql.ts';

/** Deletes at most `limit` events past 90 days; gives how many. Sweeper's pool. */
export function eraseReviewEvents(em: SqlEntityManager, limit: number): Promise<number> {
  return change(
    em,
    "delete from review_events where ctid = any (array(select x.ctid from review_events x where x.created_at < now() - interval '90 days' limit ?))",
    [limit],
  );
}
