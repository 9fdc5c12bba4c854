import type { AttachmentRow } from '../../db/attachments/attachments.ts';
import { insertAttachmentRow, type NewAttachment } from '../../db/attachments/write-attachment.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';
import { startScan } from './scan.ts';

/** Writes the row of stored bytes. Nothing holds them yet: unless something does within a day, they go. */
export async function insertAttachment(tx: TenantTransaction, file: NewAttachment): Promise<AttachmentRow> {
  const made = await insertAttachmentRow(tx, file);
  if (file.isScanned) await startScan(tx, made);
  return made;
}
