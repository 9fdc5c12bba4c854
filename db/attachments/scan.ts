import { change, row } from '../sql.ts';
import type { Unit } from '../unit.ts';
import type { RunFile } from './run-attachments.ts';

/** An attachment that is looked at, in the tenant of the unit; null when it is gone. */
export function readScanned(unit: Unit, attachmentId: string): Promise<(RunFile & { readonly sha256: string }) | null> {
  return row(unit.em, 'select id, filename, media_type, size_bytes, state, storage_key, sha256 from attachments where id = ?', [
    attachmentId,
  ]);
}

/** Writes what was found, once: a verdict is never changed. */
export function settleScan(unit: Unit, attachmentId: string, state: 'ready' | 'rejected'): Promise<number> {
  return change(unit.em, `update attachments set state = ? where id = ? and state = 'scanning'`, [state, attachmentId]);
}
