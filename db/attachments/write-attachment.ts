import type { ActorRef } from '../actor-ref.ts';
import { newId } from '../ids.ts';
import { change, rows } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';
import { attachmentColumns, unlinkedHours, type AttachmentRow } from './attachments.ts';
import type { Attachment } from './attachment.entity.ts';

/** What is known of bytes that are stored already. */
export interface NewAttachment {
  readonly organizationId: string;
  readonly workspaceId: string | null;
  readonly filename: string;
  readonly mediaType: string;
  readonly sizeBytes: number;
  readonly sha256: string;
  readonly storageKey: string;
  readonly purpose: Attachment['purpose'];
  /** Somebody looks at it before it can be used. */
  readonly isScanned: boolean;
  readonly createdBy: ActorRef;
}

/** Writes the row of stored bytes, `scanning` where somebody looks at them first. */
export async function insertAttachmentRow(tx: TenantTransaction, file: NewAttachment): Promise<AttachmentRow> {
  const [made] = await rows<AttachmentRow>(
    tx.em,
    `insert into attachments as a (id, organization_id, workspace_id, filename, media_type, size_bytes, sha256, purpose, state, created_by,
       storage_key, expires_at, created_at)
     values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?::jsonb, ?, now() + make_interval(hours => ?), now()) returning ${attachmentColumns}`,
    [
      newId(),
      file.organizationId,
      file.workspaceId,
      file.filename,
      file.mediaType,
      file.sizeBytes,
      file.sha256,
      file.purpose,
      file.isScanned ? 'scanning' : 'ready',
      JSON.stringify(file.createdBy),
      file.storageKey,
      unlinkedHours,
    ],
  );
  if (!made) throw new Error('an attachment that was made is not visible');
  return made;
}

/** Writes what was found of an attachment that is looked at; nothing for any other. */
export function storeVerdict(tx: TenantTransaction, attachmentId: string, state: 'ready' | 'rejected'): Promise<number> {
  return change(tx.em, `update attachments set state = ? where id = ? and state = 'scanning'`, [state, attachmentId]);
}
