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
    `select u.id from users u where u.id::text = lower(?) and u.organization_id = ? and u.is_active and u.deleted_at is null
       and (u.scope = 'organization' or u.workspace_id = ?::uuid
         or exists (select from workspace_grants g where g.user_id = u.id and g.workspace_id = ?::uuid))`,
    [id, organizationId, workspaceId, workspaceId],
  );
  return found !== null;
}
