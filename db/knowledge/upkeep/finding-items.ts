import { sql } from 'kysely';
import { anyId } from '../../expressions.ts';
import { query } from '../../query.ts';
import { change, rows } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';

type Tx = Pick<TenantTransaction, 'em'>;

/** Locks and returns live items of a base, in the order of their ids. */
export function lockFindingItems(tx: Tx, kbId: string, ids: readonly string[]) {
  return rows(
    tx.em,
    query
      .selectFrom('knowledge_items as i')
      .where('i.kbId', '=', kbId)
      .where('i.id', '=', anyId(ids))
      .where('i.deletedAt', 'is', null)
      .where('i.stagedRunId', 'is', null)
      .select(['i.id', 'i.curationState', 'i.trust', 'i.supersededById', 'i.evidence', 'i.contentHash', 'i.rowVersion'])
      .orderBy('i.id')
      .forUpdate(),
  );
}

/** The columns of an item that a resolution reads and changes. */
export type FindingItem = Awaited<ReturnType<typeof lockFindingItems>>[number];

/** What a resolution changes on a locked item. */
export type ItemChange = Readonly<Pick<FindingItem, 'id' | 'curationState' | 'trust' | 'supersededById' | 'evidence'>>;

/** Writes states and links of an item; its content stays. */
export async function writeFindingItem(tx: Tx, { id, curationState, trust, supersededById, evidence }: ItemChange): Promise<void> {
  await change(
    tx.em,
    query
      .updateTable('knowledge_items')
      .set((eb) => ({
        curationState,
        trust,
        supersededById,
        evidence,
        rowVersion: eb('rowVersion', '+', 1),
        updatedAt: sql<string>`now()`,
      }))
      .where('id', '=', id),
  );
}
