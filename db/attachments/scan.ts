import { change, row } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';
import type { RunFile } from './run-attachments.ts';

/** An attachment that is looked at, in the tenant of the transaction; null when it is gone. */
export function readScanned(tx: TenantTransaction, attachmentId: string): Promise<(RunFile & { readonly sha256: string }) | null> {
  return row(tx.em, 'select id, filename, media_type, size_bytes, state, storage_key, sha256 from attachments where id = ?', [
    attachmentId,
  ]);
}

/** Writes what was found, once: a verdict is never changed. */
export function settleScan(tx: TenantTransaction, attachmentId: string, state: 'ready' | 'rejected'): Promise<number> {
  return change(tx.em, `update attachments set state = ? where id = ? and state = 'scanning'`, [state, attachmentId]);
}
