import { newId } from '../ids.ts';
import { change, row, rows } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';
import type { ActorRef } from '../actor-ref.ts';
import { unlinkedHours, attachmentColumns, type AttachmentRow } from './attachments.ts';

/** A file whose bytes are not in storage yet. */
export interface AwaitedFile {
  readonly organizationId: string;
  readonly workspaceId: string;
  readonly filename: string;
  readonly mediaType: string;
  readonly sizeBytes: number;
  readonly storageKey: string;
  readonly createdBy: ActorRef;
}

/** Stores the row of an awaited file as `scanning`: runs wait for it. Returns its id. */
export async function insertAwaited(tx: TenantTransaction, file: AwaitedFile): Promise<string> {
  const id = newId();
  await rows(
    tx.em,
    `insert into attachments (id, organization_id, workspace_id, filename, media_type, size_bytes, sha256, purpose, state, created_by, storage_key, expires_at, created_at)
     values (?, ?, ?, ?, ?, ?, '', 'run_input', 'scanning', ?::jsonb, ?, now() + make_interval(hours => ?), now())`,
    [
      id,
      file.organizationId,
      file.workspaceId,
      file.filename,
      file.mediaType,
      file.sizeBytes,
      JSON.stringify(file.createdBy),
      file.storageKey,
      unlinkedHours,
    ],
  );
  return id;
}

/** An awaited file whose bytes have arrived. */
export interface FilledFile {
  readonly filename: string;
  readonly mediaType: string;
  readonly sizeBytes: number;
  readonly sha256: string;
  readonly isScanned: boolean;
}

/** Stores the facts of the bytes of a file that is still awaited; returns null when it is not. */
export function fillAwaitedRow(
  tx: TenantTransaction,
  id: string,
  { filename, mediaType, sizeBytes, sha256, isScanned }: FilledFile,
): Promise<AttachmentRow | null> {
  return row<AttachmentRow>(
    tx.em,
    `update attachments a set filename = ?, media_type = ?, size_bytes = ?, sha256 = ?, state = case when ? then 'scanning' else 'ready' end
      where a.id = ? and a.state = 'scanning' and a.sha256 = '' returning ${attachmentColumns}`,
    [filename, mediaType, sizeBytes, sha256, isScanned, id],
  );
}

/** Rejects a file that is still awaited. */
export async function rejectAwaited(tx: TenantTransaction, id: string): Promise<void> {
  await change(tx.em, "update attachments set state = 'rejected' where id = ? and state = 'scanning' and sha256 = ''", [id]);
}
