import { newId } from '../ids.ts';
import { change, row, rows } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';
import type { ActorRef } from '../actor-ref.ts';
import { unlinkedHours, attachmentColumns, type AttachmentRow } from './attachments.ts';
import { startScan } from './insert-attachment.ts';

/** A file whose bytes are still elsewhere. */
export interface AwaitedFile {
  readonly organizationId: string;
  readonly workspaceId: string;
  readonly filename: string;
  readonly mediaType: string;
  readonly sizeBytes: number;
  readonly storageKey: string;
  readonly createdBy: ActorRef;
}

/** Writes the row of a file that is yet to come, as `scanning`: runs wait for it. Gives its id. */
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

/** Says of an awaited file that its bytes are there; where somebody looks at files, that begins now. */
export async function fillAwaited(
  tx: TenantTransaction,
  id: string,
  {
    filename,
    mediaType,
    sizeBytes,
    sha256,
    isScanned,
  }: {
    readonly filename: string;
    readonly mediaType: string;
    readonly sizeBytes: number;
    readonly sha256: string;
    readonly isScanned: boolean;
  },
): Promise<void> {
  const filled = await row<AttachmentRow>(
    tx.em,
    `update attachments a set filename = ?, media_type = ?, size_bytes = ?, sha256 = ?, state = case when ? then 'scanning' else 'ready' end
      where a.id = ? and a.state = 'scanning' and a.sha256 = '' returning ${attachmentColumns}`,
    [filename, mediaType, sizeBytes, sha256, isScanned, id],
  );
  if (filled && isScanned) await startScan(tx, filled);
}

/** Gives an awaited file up: it can't be had, or may not be stored. */
export async function giveUpAwaited(tx: TenantTransaction, id: string): Promise<void> {
  await change(tx.em, "update attachments set state = 'rejected' where id = ? and state = 'scanning' and sha256 = ''", [id]);
}
