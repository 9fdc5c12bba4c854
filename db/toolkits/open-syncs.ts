import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import { query } from '../query.ts';
import { row, rows } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';
import type { ToolkitScope } from './revisions.ts';

/** A revision whose sync is under way. */
export type OpenSyncRow = NonNullable<Awaited<ReturnType<typeof readOpenSync>>>;

/** Returns the open sync of a toolkit: there is at most one. */
export async function readOpenSync(tx: TenantTransaction, toolkitId: string) {
  return row(
    tx.em,
    query
      .selectFrom('toolkit_revisions as v')
      .select(['v.id', 'v.createdBy'])
      .where('v.toolkitId', '=', toolkitId)
      .where('v.state', '=', 'syncing'),
  );
}

/** Returns toolkits whose next sync is due, oldest first. Sweeper's pool. */
export async function dueSyncs(em: SqlEntityManager, limit: number): Promise<ToolkitScope[]> {
  return rows(
    em,
    query
      .selectFrom('toolkits as k')
      .innerJoin('organizations as o', 'o.id', 'k.organizationId')
      .leftJoin('workspaces as w', 'w.id', 'k.workspaceId')
      .select(['k.id', 'k.organizationId', 'k.workspaceId'])
      .where('k.nextSyncAt', '<=', sql<string>`now()`)
      .where('k.deletedAt', 'is', null)
      .where('k.kind', '=', 'mcp')
      .where('k.isActive', '=', true)
      .where('o.status', '=', 'active')
      .where(({ fn, lit }) => fn.coalesce('w.isActive', lit(true)))
      .orderBy('k.nextSyncAt')
      .limit(limit),
  );
}
