import { sql } from 'kysely';
import { anyId } from '../../expressions.ts';
import { query } from '../../query.ts';
import { row, rows } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';

type Tx = Pick<TenantTransaction, 'em'>;

function readBases(tx: Tx, ids: readonly string[]) {
  return rows(
    tx.em,
    query
      .selectFrom('knowledge_bases as b')
      .where('b.id', '=', anyId(ids))
      .where('b.deletedAt', 'is', null)
      .select(['b.id', 'b.organizationId', 'b.workspaceId', 'b.embeddingModel', 'b.embeddingDim', 'b.lexNo', 'b.chunking', 'b.retrieval']),
  );
}

/** A base that a re-embed reads or fills. */
export type ReembeddedBase = Awaited<ReturnType<typeof readBases>>[number];

/** The base that a re-embed reads, and the base that it fills. */
export interface BasePair {
  readonly from: ReembeddedBase;
  readonly to: ReembeddedBase;
}

/** Returns both bases; null when either no longer exists. */
export async function readBasePair(tx: Tx, { fromId, toId }: { readonly fromId: string; readonly toId: string }): Promise<BasePair | null> {
  const found = await readBases(tx, [fromId, toId]);
  const from = found.find(({ id }) => id === fromId);
  const to = found.find(({ id }) => id === toId);
  return from && to ? { from, to } : null;
}

/** Returns the counted chunks of a base's live items. */
export async function countChunks(tx: Tx, kbId: string): Promise<number> {
  const found = await row(tx.em, query.selectFrom('knowledge_base_counters as c').where('c.kbId', '=', kbId).select('c.chunks'));
  return found?.chunks ?? 0;
}

/** Returns random chunks of a base with their vectors. */
export function sampleChunks(tx: Tx, kbId: string, limit: number) {
  return rows(
    tx.em,
    query
      .selectFrom(({ selectFrom }) =>
        selectFrom('knowledge_vectors as r')
          .where('r.kbId', '=', kbId)
          .select(['r.chunkId', 'r.embedding'])
          .orderBy(sql`random()`)
          .limit(limit)
          .as('v'),
      )
      .innerJoin('knowledge_chunks as c', 'c.id', 'v.chunkId')
      .select(['c.id', 'c.context', 'c.text', sql<string>`v.embedding::text`.as('embedding')])
      .orderBy('c.id'),
  );
}
