import { newId } from '../../ids.ts';
import { change } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import type { KnowledgeSource } from './knowledge-source.entity.ts';

type Tx = Pick<TenantTransaction, 'em'>;

/** Retains an attachment as long as its source exists. */
export async function linkToSource(tx: Tx, { id, organizationId, workspaceId, attachmentId }: KnowledgeSource): Promise<void> {
  if (attachmentId === null) return;
  await change(
    tx.em,
    `with linked as (
       insert into attachment_links (id, attachment_id, organization_id, workspace_id, owner_kind, owner_id, created_at)
       values (?, ?, ?, ?, 'source', ?, now()) on conflict do nothing)
     update attachments set expires_at = null where id = ?`,
    [newId(), attachmentId, organizationId, workspaceId, id, attachmentId],
  );
}

/** Unlinks the attachment of a source: without another link it is deleted a day later. */
export async function unlinkSource(tx: Tx, sourceId: string): Promise<void> {
  await change(tx.em, `delete from attachment_links where owner_kind = 'source' and owner_id = ?`, [sourceId]);
}
