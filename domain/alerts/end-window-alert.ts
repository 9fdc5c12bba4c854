import { followedTime } from '../../db/database-clock.ts';
import { emitAlert } from '../../db/alerts/emit.ts';
import type { EndedBudgetAlert } from '../../db/alerts/ended-windows.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';

/** Ends the alert of a budget whose window has ended. Nobody is notified: the next window has begun. One that is no more open stays as it is. */
export async function endWindowAlert(tx: TenantTransaction, { alertId, ...rule }: EndedBudgetAlert): Promise<void> {
  await emitAlert(tx, rule, { event: 'resolved', alertId, resolution: 'window_ended' }, followedTime(tx.em));
}
