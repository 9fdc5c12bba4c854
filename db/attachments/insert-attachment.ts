import { taskQueues, workflowIds } from '../../workflows/contracts/queues.ts';
import type { ActorRef } from '../actor-ref.ts';
import { newId } from '../ids.ts';
import { addOutbox } from '../outbox.ts';
import { rows } from '../sql.ts';
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

/** Writes the row of stored bytes. Nothing holds them yet: unless something does within a day, they go. */
export async function insertAttachment(tx: TenantTransaction, file: NewAttachment): Promise<AttachmentRow> {
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
  if (file.isScanned) await startScan(tx, made);
  return made;
}

/** Has somebody look at stored bytes. Not behind a batch: runs wait for it. */
export async function startScan(tx: TenantTransaction, { id, organization_id, workspace_id }: AttachmentRow): Promise<void> {
  await addOutbox(
    tx,
    {
      kind: 'workflow.start',
      workflowType: 'attachmentScan',
      workflowId: workflowIds.scan(id),
      taskQueue: taskQueues.runs,
      args: [{ attachmentId: id }],
      organizationId: organization_id,
      workspaceId: workspace_id,
      correlationId: tx.correlationId,
      reuse: 'reject_duplicate',
      priority: 3,
      searchAttributes: {},
    },
    { dedupeKey: workflowIds.scan(id) },
  );
}
