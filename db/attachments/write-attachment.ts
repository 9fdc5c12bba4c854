import { sql } from 'kysely';
import type { ActorRef } from '../actor-ref.ts';
import { newId } from '../ids.ts';
import { query } from '../query.ts';
import { change, row } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';
import { attachmentColumns, linksOf, unlinkedHours, type AttachmentRow } from './attachments.ts';
import type { Attachment } from './attachment.entity.ts';

/** The facts of bytes that are already stored. */
export interface NewAttachment {
  readonly organizationId: string;
  readonly workspaceId: string | null;
  readonly filename: string;
  readonly mediaType: string;
  readonly sizeBytes: number;
  readonly sha256: string;
  readonly storageKey: string;
  readonly purpose: Attachment['purpose'];
  /** It must be scanned before it can be used. */
  readonly isScanned: boolean;
  readonly createdBy: ActorRef;
}

/** Stores the row of stored bytes, as `scanning` where they must be scanned first. */
export async function insertAttachmentRow(tx: TenantTransaction, file: NewAttachment): Promise<AttachmentRow> {
  const made = await row(
    tx.em,
    query
      .insertInto('attachments')
      .values({
        id: newId(),
        organizationId: file.organizationId,
        workspaceId: file.workspaceId,
        filename: file.filename,
        mediaType: file.mediaType,
        sizeBytes: file.sizeBytes,
        sha256: file.sha256,
        purpose: file.purpose,
        state: file.isScanned ? 'scanning' : 'ready',
        createdBy: file.createdBy,
        storageKey: file.storageKey,
        expiresAt: sql<string>`now() + make_interval(hours => ${unlinkedHours})`,
        createdAt: sql<string>`now()`,
      })
      .returning(attachmentColumns)
      .returning(({ exists, ref }) =>
        exists(linksOf(ref('attachments.id')))
          .$castTo<boolean>()
          .as('linked'),
      ),
  );
  if (!made) throw new Error('an attachment that was made is not visible');
  return made;
}

/** Stores the verdict on an attachment that is being scanned; changes no other. */
export function storeVerdict(tx: TenantTransaction, attachmentId: string, state: 'ready' | 'rejected'): Promise<number> {
  return change(tx.em, query.updateTable('attachments').set({ state }).where('id', '=', attachmentId).where('state', '=', 'scanning'));
}
