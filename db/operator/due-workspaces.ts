import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import { query } from '../query.ts';
import { rows } from '../sql.ts';

/** An archived workspace whose retention is over. */
export type DueWorkspace = Awaited<ReturnType<typeof dueWorkspaces>>[number];

/** Returns archived workspaces past their `purge_after`, longest due first. Sweeper's pool, like everything here. */
export function dueWorkspaces(em: SqlEntityManager, limit: number) {
  return rows(
    em,
    query
      .selectFrom('workspaces as w')
      .innerJoin('organizations as o', 'o.id', 'w.organizationId')
      .select(['w.id', 'w.organizationId'])
      .where(({ eb, not }) => not(eb.ref('w.isActive')))
      .where('w.purgeAfter', '<=', sql<string>`now()`)
      .where('o.purgedAt', 'is', null)
      .orderBy('w.purgeAfter')
      .limit(limit),
  );
}
