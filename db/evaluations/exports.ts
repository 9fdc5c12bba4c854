import { row } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';

/** Returns the id of the attachment with all results of an evaluation, or null when there is none yet. */
export async function findExport(tx: Pick<TenantTransaction, 'em'>, evaluationRunId: string): Promise<string | null> {
  const found = await row<{ id: string }>(
    tx.em,
    `select attachment_id as id from attachment_links where owner_kind = 'evaluation' and owner_id = ? limit 1`,
    [evaluationRunId],
  );
  return found?.id ?? null;
}
