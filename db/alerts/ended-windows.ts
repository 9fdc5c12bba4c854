import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import { query } from '../query.ts';
import { rows } from '../sql.ts';

/** Returns open alerts of budgets whose window has ended, oldest first, however the window was rolled. Sweeper's pool. */
export function endedBudgetAlerts(em: SqlEntityManager, limit: number) {
  return rows(
    em,
    query
      .selectFrom('alerts as a')
      .innerJoin('alert_rules as r', 'r.id', 'a.ruleId')
      .where('r.kind', '=', 'budget')
      .where('a.resolvedAt', 'is', null)
      .where(sql<boolean>`(a.labels ->> 'window_end')::timestamptz <= clock_timestamp()`)
      .select(['a.id as alertId', 'a.organizationId', 'a.workspaceId', 'r.id', 'r.name', 'r.kind', 'r.targets'])
      .orderBy('a.openedAt')
      .limit(limit),
  );
}

export type EndedBudgetAlert = Awaited<ReturnType<typeof endedBudgetAlerts>>[number];
