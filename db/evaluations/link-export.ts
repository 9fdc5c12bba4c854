import { newId } from '../ids.ts';
import { rows } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';
import type { EvaluationPlace } from './run-ended.ts';

/** Has an attachment stay with an evaluation. */
export async function linkExport(
  tx: TenantTransaction,
  { id, organizationId, workspaceId }: EvaluationPlace,
  attachmentId: string,
): Promise<void> {
  await rows(
    tx.em,
    `with held as (update attachments set expires_at = null where id = ? returning id)
     insert into attachment_links (id, attachment_id, organization_id, workspace_id, owner_kind, owner_id, created_at)
     select ?, held.id, ?, ?, 'evaluation', ?, now() from held on conflict do nothing`,
    [attachmentId, newId(), organizationId, workspaceId, id],
  );
}
