import type { ActorRef } from '../actor-ref.ts';
import { newId } from '../ids.ts';
import { change, rows } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';
import { attachmentColumns, unlinkedHours, type AttachmentRow } from './attachments.ts';
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

/** Stores the verdict on an attachment that is being scanned; changes no other. */
export function storeVerdict(tx: TenantTransaction, attachmentId: string, state: 'ready' | 'rejected'): Promise<number> {
  return change(tx.em, `update attachments set state = ? where id = ? and state = 'scanning'`, [state, attachmentId]);
}
