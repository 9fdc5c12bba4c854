import { sql } from 'kysely';
import type { Condition } from '../../condition.ts';
import { prepared, type ParametersOf } from '../../prepared.ts';
import { query } from '../../query.ts';
import { rows } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';

/** What a search needs to know of a base. */
export type SearchedBase = Awaited<ReturnType<typeof listSearchedBases>>[number];

export interface SearchedBasesFilter {
  /** The bases `b` that are searched, or may be named. */
  readonly visible: Condition;
  /** Those of them that the caller may read. */
  readonly canRead: Condition;
  /** Restricts the search to these bases. */
  readonly kbIds?: readonly string[];
  /** Maximum number of bases. */
  readonly limit: number;
}

const searchedBases = prepared(({ visible, canRead, kbIds, limit }: ParametersOf<SearchedBasesFilter>) => {
  const bases = query
    .selectFrom('knowledge_bases as b')
    .innerJoin('knowledge_base_counters as n', 'n.kbId', 'b.id')
    .leftJoin('knowledge_policies as p', 'p.kbId', 'b.id')
    .where(visible)
    .where('b.deletedAt', 'is', null)
    .select([
      'b.id',
      'b.organizationId',
      'b.workspaceId',
      'b.slug',
      'b.lexNo',
      'b.retrieval',
      'b.embeddingModel',
      'b.embeddingDim',
      'b.activatedAt',
      'b.successorId',
      'n.chunks',
      'n.lexLen',
    ])
    .select(['p.decay', sql<boolean>`${canRead}`.as('isReadable')])
    .select(({ eb, exists, selectFrom }) => [
      eb
        .or([
          eb('b.relexedTo', 'is not', null),
          exists(
            selectFrom('knowledge_items as i')
              .select(sql.lit(1).as('one'))
              .whereRef('i.kbId', '=', 'b.id')
              // A literal, because with a parameter a generic plan cannot use the partial index and would read every item of the base.
              .where('i.indexState', '=', sql.lit('pending'))
              .where('i.deletedAt', 'is', null)
              .where('i.stagedRunId', 'is', null),
          ),
        ])
        .as('isIndexPending'),
    ])
    .orderBy('b.id')
    .limit(limit);
  return kbIds === undefined ? bases : bases.where(sql<boolean>`b.id = any(${kbIds}::uuid[])`);
});

/** Returns bases with what a search of them needs, by id. */
export function listSearchedBases(tx: Pick<TenantTransaction, 'em'>, filter: SearchedBasesFilter) {
  return rows(tx.em, searchedBases(filter));
}
