import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import { query } from '../query.ts';
import { rows } from '../sql.ts';

/** Returns at most `limit` ids of organizations with rules to be judged, after the id `after`. Sweeper's pool. */
export async function organizationsWithRules(em: SqlEntityManager, after: string | null, limit: number): Promise<string[]> {
  const found = await rows(
    em,
    query
      .selectFrom('alert_rules as r')
      .innerJoin('organizations as o', 'o.id', 'r.organizationId')
      .where('r.isActive', '=', sql.lit(true))
      .where('r.deletedAt', 'is', null)
      .where('r.budgetId', 'is', null)
      .where('o.status', '=', 'active')
      .$if(after !== null, (rules) => rules.where('r.organizationId', '>', after ?? ''))
      .select('r.organizationId')
      .distinct()
      .orderBy('r.organizationId')
      .limit(limit),
  );
  return found.map(({ organizationId }) => organizationId);
}
