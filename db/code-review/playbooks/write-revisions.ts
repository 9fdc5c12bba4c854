import type { ReviewTemplates } from '../../../workflows/contracts/review/code-review.ts';
import { newId } from '../../ids.ts';
import { change, queueStatement, row } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import type { ReviewPlaybook } from './review-playbook.entity.ts';

/** A revision to be stored. */
export interface NewPlaybookRevision {
  readonly templates: ReviewTemplates;
  readonly sha256: string;
  readonly note: string | null;
  readonly createdByUserId: string | null;
}

/** Adds the next revision of a locked playbook; returns its id. */
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

/** Clears the default flag of the playbook of the same owner that has it. Two that become the default at once take turns, until their transactions end. */
export async function dropDefault(
  tx: Pick<TenantTransaction, 'em'>,
  { id, scope, organizationId, workspaceId }: Pick<ReviewPlaybook, 'id' | 'scope' | 'organizationId' | 'workspaceId'>,
): Promise<void> {
  await queueStatement(tx.em, "select pg_advisory_xact_lock(hashtextextended('review_default:' || ?, 0))", [
    [scope, organizationId, workspaceId].join(':'),
  ]);
  await change(
    tx.em,
    `update review_playbooks set is_default = false, version = version + 1, updated_at = now()
      where is_default and deleted_at is null and id <> ? and scope = ? and organization_id is not distinct from ?::uuid
        and workspace_id is not distinct from ?::uuid`,
    [id, scope, organizationId, workspaceId],
  );
}
