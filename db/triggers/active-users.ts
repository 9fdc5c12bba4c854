import { sql } from 'kysely';
import { query } from '../query.ts';
import { row } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';

/** Whether a user may work in a trigger's workspace today: false for deactivated users and for those who have moved away. */
export async function isActiveUserOf(
  tx: TenantTransaction,
  { organizationId, workspaceId }: { readonly organizationId: string; readonly workspaceId: string },
  id: string,
): Promise<boolean> {
  const found = await row(
    tx.em,
    query
      .selectFrom('users as u')
      .where(sql<string>`u.id::text`, '=', sql<string>`lower(${id})`)
      .where('u.organizationId', '=', organizationId)
      .where('u.isActive', '=', sql.lit(true))
      .where('u.deletedAt', 'is', null)
      .where(({ eb, exists, or, selectFrom }) =>
        or([
          eb('u.scope', '=', 'organization'),
          eb('u.workspaceId', '=', workspaceId),
          exists(
            selectFrom('workspace_grants as g')
              .whereRef('g.userId', '=', 'u.id')
              .where('g.workspaceId', '=', workspaceId)
              .select('g.userId'),
          ),
        ]),
      )
      .select('u.id'),
  );
  return found !== null;
}
