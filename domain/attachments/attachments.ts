import type { AttachmentRow } from '../../db/attachments/attachments.ts';
import { fillAwaitedRow, rejectAwaited, type FilledFile } from '../../db/attachments/awaited.ts';
import { insertAttachmentRow, storeVerdict, type NewAttachment } from '../../db/attachments/write-attachment.ts';
import { addOutbox } from '../../db/outbox.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';
import { taskQueues, workflowIds } from '../../workflows/contracts/queues.ts';
import { deleteExpired, dropDeadLinks, expireUnlinked } from '../../db/attachments/attachment-sweep.ts';
import type { Databases } from '../../db/databases.ts';
import { sweep } from '../../db/transaction.ts';

/** Writes the row of stored bytes. Nothing links them yet: unless something does within a day, they are deleted. */
export async function insertAttachment(tx: TenantTransaction, file: NewAttachment): Promise<AttachmentRow> {
  const made = await insertAttachmentRow(tx, file);
  if (file.isScanned) await startScan(tx, made);
  return made;
}

/** Records that the bytes of an awaited file have arrived; starts its scan if files are scanned. */
export async function fillAwaited(tx: TenantTransaction, id: string, file: FilledFile): Promise<void> {
  const filled = await fillAwaitedRow(tx, id, file);
  if (filled && file.isScanned) await startScan(tx, filled);
}

/** Rejects an awaited file that can't be fetched, or may not be stored. */
export async function giveUpAwaited(tx: TenantTransaction, id: string): Promise<void> {
  await rejectAwaited(tx, id);
}

/** Writes the verdict of a scan, once: a verdict is never changed. */
export function settleScan(tx: TenantTransaction, attachmentId: string, state: 'ready' | 'rejected'): Promise<number> {
  return storeVerdict(tx, attachmentId, state);
}

/** Starts the scan of stored bytes. Not on the bulk queue, since runs wait for it. */
async function startScan(tx: TenantTransaction, { id, organizationId, workspaceId }: AttachmentRow): Promise<void> {
  await addOutbox(
    tx,
    {
      kind: 'workflow.start',
      workflowType: 'attachmentScan',
      workflowId: workflowIds.scan(id),
      taskQueue: taskQueues.runs,
      args: [{ attachmentId: id }],
      organizationId,
      workspaceId,
      correlationId: tx.correlationId,
      reuse: 'reject_duplicate',
      priority: 3,
      searchAttributes: {},
    },
    { dedupeKey: workflowIds.scan(id) },
  );
}

/** The steps that release attachments, `limit` rows at a time, in this order: once dead links are dropped, an attachment without links has one more day. */
export const releases = [
  { what: 'attachment links', releaseSome: (db: Databases, limit: number) => sweep(db, (em) => dropDeadLinks(em, limit)) },
  { what: 'attachments let go', releaseSome: (db: Databases, limit: number) => sweep(db, (em) => expireUnlinked(em, limit)) },
] as const;

/**
 * Deletes up to `limit` unlinked attachments past their expiry. Rows first: returns the keys of their bytes, which then belong to no row, and are strays if
 * their removal is interrupted.
 */
export function deleteReleased(db: Databases, limit: number): Promise<string[]> {
  return sweep(db, (em) => deleteExpired(em, limit));
}
