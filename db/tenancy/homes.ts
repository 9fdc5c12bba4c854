import { rows } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';

/** The workspace of an organization that is named, else up to two active ones, with its state and that of its organization. */
export function findHomes(
  tx: Pick<TenantTransaction, 'em'>,
  organizationId: string | null,
  workspaceId: string | null,
): Promise<{ readonly id: string; readonly is_active: boolean; readonly status: string }[]> {
  return rows<{ id: string; is_active: boolean; status: string }>(
    tx.em,
    `select w.id, w.is_active, o.status from workspaces w join organizations o on o.id = w.organization_id
      where w.organization_id = ? and case when ?::uuid is null then w.is_active else w.id = ?::uuid end limit 2`,
    [organizationId, workspaceId, workspaceId],
  );
}
