import { fillAwaitedRow, rejectAwaited, type FilledFile } from '../../db/attachments/awaited.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';
import { startScan } from './scan.ts';

/** Says of an awaited file that its bytes are there; where somebody looks at files, that begins now. */
export async function fillAwaited(tx: TenantTransaction, id: string, file: FilledFile): Promise<void> {
  const filled = await fillAwaitedRow(tx, id, file);
  if (filled && file.isScanned) await startScan(tx, filled);
}

/** Gives an awaited file up: it can't be had, or may not be stored. */
export async function giveUpAwaited(tx: TenantTransaction, id: string): Promise<void> {
  await rejectAwaited(tx, id);
}
