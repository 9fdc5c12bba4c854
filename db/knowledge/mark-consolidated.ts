import { change } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';

/** Says that a base was consolidated just now. */
export async function markConsolidated(tx: Pick<TenantTransaction, 'em'>, kbId: string): Promise<void> {
  await change(tx.em, 'update knowledge_bases set last_consolidated_at = now() where id = ?', [kbId]);
}
