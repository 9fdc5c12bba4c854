import type { ReviewTemplates } from '../../workflows/contracts/code-review.ts';
import { newId } from '../ids.ts';
import { row } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';

/** A revision to be written. */
export interface NewPlaybookRevision {
  readonly templates: ReviewTemplates;
  readonly sha256: string;
  readonly note: string | null;
  readonly createdByUserId: string | null;
}

/** Adds the next revision of a locked playbook; gives its id. */
export async function insertPlaybookRevision(
  tx: Pick<TenantTransaction, 'em'>,
  playbook: { readonly id: string; readonly organizationId: string | null; readonly workspaceId: string | null },
  { templates, sha256, note, createdByUserId }: NewPlaybookRevision,
): Promise<string> {
  const id = newId();
  await row<{ id: string }>(
    tx.em,
    `insert into review_playbook_revisions (id, playbook_id, organization_id, workspace_id, revision_number, templates, sha256, note, created_by_user_id)
     select ?::uuid, ?::uuid, ?::uuid, ?::uuid, coalesce(max(r.revision_number), 0) + 1, ?::jsonb, ?, ?, ?::uuid
       from review_playbook_revisions r where r.playbook_id = ?::uuid returning id`,
    [id, playbook.id, playbook.organizationId, playbook.workspaceId, JSON.stringify(templates), sha256, note, createdByUserId, playbook.id],
  );
  return id;
}
