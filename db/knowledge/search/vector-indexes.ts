import { sql } from 'kysely';
import { query } from '../../query.ts';
import { rows } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import { minRetainedChunks, minIndexedChunks } from './vector-index.ts';

type Tx = Pick<TenantTransaction, 'em'>;

/** The indexes over the vectors of bases, which are named by the id of their base. */
const indexes = sql<{ kbId: string; isValid: boolean }>`(
  select replace(k.relname, 'knowledge_vectors_hnsw_', '')::uuid as kb_id, x.indisvalid as is_valid
    from pg_index x join pg_class k on k.oid = x.indexrelid
   where k.relnamespace = 'public'::regnamespace and k.relname ~ '^knowledge_vectors_hnsw_[0-9a-f]{32}$')`;

/** Returns bases whose vectors should have an index but have no valid one, largest first. Sweeper's pool. */
export function basesWithoutIndex(tx: Tx, limit: number) {
  return rows(
    tx.em,
    query
      .selectFrom('knowledge_bases as b')
      .innerJoin('knowledge_base_counters as c', 'c.kbId', 'b.id')
      .where('b.deletedAt', 'is', null)
      .where('b.activatedAt', 'is not', null)
      .where('b.embeddingDim', '>', 0)
      .where('c.chunks', '>', minIndexedChunks)
      .where(({ not, exists, selectFrom }) =>
        not(exists(selectFrom(indexes.as('i')).whereRef('i.kbId', '=', 'b.id').where('i.isValid', '=', sql.lit(true)))),
      )
      .select(['b.id as kbId', 'b.embeddingDim as dim'])
      .orderBy('c.chunks', 'desc')
      .limit(limit),
  );
}

/** Returns bases whose index is no longer needed, because they have become too small or are deleted; none that is being filled. Sweeper's pool. */
export function basesWithIdleIndex(tx: Tx) {
  return rows(
    tx.em,
    query
      .selectFrom(indexes.as('i'))
      .leftJoin('knowledge_bases as b', (join) => join.onRef('b.id', '=', 'i.kbId').on('b.deletedAt', 'is', null))
      .leftJoin('knowledge_base_counters as c', 'c.kbId', 'b.id')
      .where(({ eb, or, and, fn }) =>
        or([
          eb('b.id', 'is', null),
          and([eb('b.activatedAt', 'is not', null), eb(fn.coalesce('c.chunks', sql.lit(0)), '<', minRetainedChunks)]),
        ]),
      )
      .select('i.kbId'),
  );
}
