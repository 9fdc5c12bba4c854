import { queueStatement, row } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';

/**
 * The advisory lock on the use of a playbook. A row lock would not do: the policies let no tenant lock a playbook of the platform, and the reference stands in
 * JSON, without a foreign key.
 */
const useKey = "hashtextextended('review_playbook:' || ?, 0)";

/** Whether a binding names the playbook. Waits for bindings that are about to name it, and keeps others from doing so until the transaction ends. */
export async function isNamedByBinding(tx: Pick<TenantTransaction, 'em'>, playbookId: string): Promise<boolean> {
  await queueStatement(tx.em, `select pg_advisory_xact_lock(${useKey})`, [playbookId]);
  const found = await row<{ id: string }>(
    tx.em,
    "select b.id from repo_bindings b where b.review_config ->> 'playbook_id' = ? and b.deleted_at is null limit 1",
    [playbookId],
  );
  return found !== null;
}

/** Whether a binding of the workspace may name a playbook: it exists, is active, and belongs to the workspace or a wider scope. It stays so until the transaction ends. */
export async function isUsablePlaybook(
  tx: Pick<TenantTransaction, 'em'>,
  playbookId: string,
  { organizationId, workspaceId }: { readonly organizationId: string; readonly workspaceId: string },
): Promise<boolean> {
  await queueStatement(tx.em, `select pg_advisory_xact_lock_shared(${useKey})`, [playbookId]);
  const found = await row<{ id: string }>(
    tx.em,
    `select p.id from review_playbooks p where p.id = ? and p.deleted_at is null and p.is_active
        and (p.scope = 'platform' or (p.organization_id = ?::uuid and (p.workspace_id is null or p.workspace_id = ?::uuid)))`,
    [playbookId, organizationId, workspaceId],
  );
  return found !== null;
}
