import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { sql, type SqlBool } from 'kysely';
import { query } from '../../query.ts';
import { rows } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';

/** The last root that was examined. */
export interface Position {
  readonly finishedAt: string;
  readonly id: string;
}

/** Returns the organizations that limit how many days their runs are retained. Sweeper's pool. */
export function organizationsWithRetention(em: SqlEntityManager): Promise<{ organizationId: string }[]> {
  return rows(em, query.selectFrom('organization_settings').select('organizationId').where('runRetentionDays', 'is not', null));
}

/**
 * Returns an organization's roots that ended before its retention period began, ordered by their end, after the position `after`. Excludes a root with a
 * live run below it, and one whose tree still has an open budget hold.
 */
export function rootsPastRetention(
  tx: Pick<TenantTransaction, 'em'>,
  { organizationId, after, limit }: { readonly organizationId: string; readonly after: Position | null; readonly limit: number },
): Promise<{ id: string; finishedAt: string }[]> {
  const due = query
    .selectFrom('runs as r')
    .innerJoin('organization_settings as s', 's.organizationId', 'r.organizationId')
    .select(['r.id', sql<string>`r.finished_at`.as('finishedAt')])
    .where('r.organizationId', '=', organizationId)
    .where('r.deletedAt', 'is', null)
    .where('r.parentRunId', 'is', null)
    .where('r.finishedAt', 'is not', null)
    .where(sql<SqlBool>`r.finished_at < now() - make_interval(days => s.run_retention_days)`)
    .where(sql<SqlBool>`not exists (select from runs d where d.root_run_id = r.id and d.deleted_at is null and d.finished_at is null)`)
    .where(
      sql<SqlBool>`not exists (select from budget_holds h join runs d on d.id::text = split_part(h.call_key, ':', 2)
        where h.state = 'held' and h.organization_id = r.organization_id and (d.id = r.id or d.root_run_id = r.id))`,
    )
    .orderBy('r.finishedAt')
    .orderBy('r.id')
    .limit(limit);
  return rows(
    tx.em,
    after === null ? due : due.where(sql<SqlBool>`(r.finished_at, r.id) > (${after.finishedAt}::timestamptz, ${after.id}::uuid)`),
  );
}
