import { sql, type SqlBool } from 'kysely';
import { query } from '../../query.ts';
import { row } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';

/** The run, or the whole workspace, that an adjustment is for. */
export type AdjustedPlace = NonNullable<Awaited<ReturnType<typeof readAdjustedPlace>>>;

/** Returns a workspace in the transaction's tenant, with its run; null when either does not exist. */
export function readAdjustedPlace(
  tx: Pick<TenantTransaction, 'em'>,
  { workspaceId, runId }: { readonly workspaceId: string; readonly runId: string | null },
) {
  return row(
    tx.em,
    query
      .selectFrom('workspaces as w')
      .leftJoin('runs as r', (join) => join.on('r.id', '=', sql<string>`${runId}::uuid`).onRef('r.workspaceId', '=', 'w.id'))
      .where('w.id', '=', workspaceId)
      .where(sql<SqlBool>`(${runId}::uuid is null or r.id is not null)`)
      .select(['w.organizationId', 'w.id as workspaceId', 'r.id as runId', 'r.agentId', 'r.agentRevisionId', 'r.evaluationRunId'])
      .select([
        sql<string | null>`coalesce(r.created_by_acting_user_id, case when r.created_by_kind = 'user' then r.created_by_id end)`.as(
          'userId',
        ),
        sql<string | null>`case when r.created_by_kind = 'service_key' then r.created_by_id end`.as('serviceKeyId'),
        sql<string[]>`coalesce(r.lineage, '{}')`.as('lineage'),
      ]),
  );
}
