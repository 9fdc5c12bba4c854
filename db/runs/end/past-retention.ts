import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { sql, type SqlBool } from 'kysely';
import { query } from '../../query.ts';
import { rows } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';

/** The last root that was looked at. */
export interface Position {
  readonly finishedAt: string;
  readonly id: string;
}

/** Organizations whose runs are kept for so many days and no longer. Sweeper's pool. */
export function organizationsWithRetention(em: SqlEntityManager): Promise<{ organizationId: string }[]> {
  return rows(em, query.selectFrom('organization_settings').select('organizationId').where('runRetentionDays', 'is not', null));
}

/**
 * Roots of an organization that ended longer ago than its days, by their end, those behind `after`. Left out is a run below which one lives, or of which a call
 * still holds a part of a budget.
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
