import { newId } from '../ids.ts';
import { change } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';
import type { KnowledgeRun } from './knowledge-run.entity.ts';

/** Has an attachment stay some days for a run of knowledge. */
export async function linkToRun(
  tx: Pick<TenantTransaction, 'em'>,
  { id, organizationId, workspaceId }: Pick<KnowledgeRun, 'id' | 'organizationId' | 'workspaceId'>,
  { attachmentId, days }: { readonly attachmentId: string; readonly days: number },
): Promise<void> {
  await change(
    tx.em,
    `insert into attachment_links (id, attachment_id, organization_id, workspace_id, owner_kind, owner_id, until, created_at)
     values (?, ?, ?, ?, 'knowledge_run', ?, now() + make_interval(days => ?), now()) on conflict do nothing`,
    [newId(), attachmentId, organizationId, workspaceId, id, days],
  );
}
