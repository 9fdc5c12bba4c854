import { sql } from 'kysely';
import { newId } from '../../ids.ts';
import { query } from '../../query.ts';
import { change } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import type { KnowledgeSource } from './knowledge-source.entity.ts';

type Tx = Pick<TenantTransaction, 'em'>;

/** Retains an attachment as long as its source exists. */
export async function linkToSource(tx: Tx, { id, organizationId, workspaceId, attachmentId }: KnowledgeSource): Promise<void> {
  if (attachmentId === null || organizationId === null) return; // attachments belong to organizations, and their sources too
  const link = {
    id: newId(),
    attachmentId,
    organizationId,
    workspaceId,
    ownerKind: 'source',
    ownerId: id,
    createdAt: sql<string>`now()`,
  } as const;
  await change(
    tx.em,
    query
      .with('linked', (of) =>
        of
          .insertInto('attachment_links')
          .values(link)
          .onConflict((conflict) => conflict.doNothing()),
      )
      .updateTable('attachments')
      .set({ expiresAt: null })
      .where('id', '=', attachmentId),
  );
}

/** Unlinks the attachment of a source: without another link it is deleted a day later. */
export async function unlinkSource(tx: Tx, sourceId: string): Promise<void> {
  await change(tx.em, query.deleteFrom('attachment_links').where('ownerKind', '=', 'source').where('ownerId', '=', sourceId));
}
