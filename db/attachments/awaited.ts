import { sql } from 'kysely';
import { newId } from '../ids.ts';
import { query } from '../query.ts';
import { change, row } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';
import type { ActorRef } from '../actor-ref.ts';
import { attachmentColumns, linksOf, unlinkedHours, type AttachmentRow } from './attachments.ts';

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
  await change(
    tx.em,
    query.insertInto('attachments').values({
      id,
      organizationId: file.organizationId,
      workspaceId: file.workspaceId,
      filename: file.filename,
      mediaType: file.mediaType,
      sizeBytes: file.sizeBytes,
      sha256: '',
      purpose: 'run_input',
      state: 'scanning',
      createdBy: file.createdBy,
      storageKey: file.storageKey,
      expiresAt: sql<string>`now() + make_interval(hours => ${unlinkedHours})`,
      createdAt: sql<string>`now()`,
    }),
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
  return row(
    tx.em,
    query
      .updateTable('attachments')
      .set({ filename, mediaType, sizeBytes, sha256, state: isScanned ? 'scanning' : 'ready' })
      .where('id', '=', id)
      .where('state', '=', 'scanning')
      .where('sha256', '=', '')
      .returning(attachmentColumns)
      .returning(({ exists, ref }) =>
        exists(linksOf(ref('attachments.id')))
          .$castTo<boolean>()
          .as('linked'),
      ),
  );
}

/** Rejects a file that is still awaited. */
export async function rejectAwaited(tx: TenantTransaction, id: string): Promise<void> {
  await change(
    tx.em,
    query
      .updateTable('attachments')
      .set({ state: 'rejected' })
      .where('id', '=', id)
      .where('state', '=', 'scanning')
      .where('sha256', '=', ''),
  );
}
