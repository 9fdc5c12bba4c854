import { lockForCancel } from '../../runs/end/cancel-locked.ts';
import { cancelAndClose } from '../../runs/end/cancel-run.ts';
import type { TenantTransaction } from '../../../db/tenant-transaction.ts';

/** Cancels a run whose review is not posted: its pull request has a newer head, or is closed. A run that has ended stays as it is. */
export async function withdrawReview(
  tx: TenantTransaction,
  runId: string,
  { isSuperseded }: { readonly isSuperseded: boolean },
): Promise<void> {
  const locked = await lockForCancel(tx, [runId]);
  const reason = isSuperseded ? 'superseded' : null;
  await cancelAndClose(tx, { ...locked, runIds: [runId] }, { policy: 'interrupt', reason, isSuperseded });
}
