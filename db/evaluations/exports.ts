import { query } from '../query.ts';
import { row } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';

/** Returns the id of the attachment with all results of an evaluation, or null when there is none yet. */
export async function findExport(tx: Pick<TenantTransaction, 'em'>, evaluationRunId: string): Promise<string | null> {
  const found = await row(
    tx.em,
    query
      .selectFrom('attachment_links')
      .where('ownerKind', '=', 'evaluation')
      .where('ownerId', '=', evaluationRunId)
      .select('attachmentId')
      .limit(1),
  );
  return found?.attachmentId ?? null;
}
