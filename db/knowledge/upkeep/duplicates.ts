import { sql } from 'kysely';
import { anyId } from '../../expressions.ts';
import { query } from '../../query.ts';
import { rows } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import { standingStates } from './stating-items.ts';

type Tx = Pick<TenantTransaction, 'em'>;

/** Two live items with the same meaning, the older one first; `score` is 1 for equal contents. */
export type DuplicatePair = Awaited<ReturnType<typeof findEqualItems>>[number];

/** Begins a query with the live items of a base that still count. */
function withStanding(kbId: string) {
  return query.with('standing', (of) =>
    of
      .selectFrom('knowledge_live_items as i')
      .where('i.kbId', '=', kbId)
      .where('i.curationState', 'in', standingStates)
      .select(['i.id', 'i.contentHash', 'i.chunkCount', 'i.tokenCount']),
  );
}

/** Returns items that have an older twin with an equal content hash, each with the oldest one. */
export function findEqualItems(tx: Tx, kbId: string, ids: readonly string[]) {
  return rows(
    tx.em,
    withStanding(kbId)
      .selectFrom('standing as n')
      .innerJoin('standing as o', (on) => on.onRef('o.contentHash', '=', 'n.contentHash').onRef('o.id', '<', 'n.id'))
      .where('n.id', '=', anyId(ids))
      .groupBy('n.id')
      .select([sql<string>`(array_agg(o.id order by o.id))[1]`.as('olderId'), 'n.id as newerId', sql<number>`1::float8`.as('score')])
      .orderBy('n.id'),
  );
}

/**
 * Returns items with an older item close to them by the vectors of their chunks: each chunk finds its nearest one in the other item, and the sum of the
 * cosines that reach the threshold is divided by the number of chunks of the item that has more.
 */
export function findNearItems(
  tx: Tx,
  kbId: string,
  { ids, threshold }: { readonly ids: readonly string[]; readonly threshold: number },
): Promise<DuplicatePair[]> {
  const cosine = sql<number>`1 - (v.embedding <=> m.embedding)`;
  const score = sql<number>`sum(n.cosine) / greatest(n.chunk_count, o.chunk_count)`;
  const shown = sql<number>`least(1, ${score})::float8`;
  return rows(
    tx.em,
    withStanding(kbId)
      .with('mine', (of) =>
        of
          .selectFrom('standing as s')
          .innerJoin('knowledge_chunks as c', 'c.itemId', 's.id')
          .innerJoin('knowledge_vectors as v', 'v.chunkId', 'c.id')
          .where('s.id', '=', anyId(ids))
          .select(['s.id', 's.contentHash', 's.chunkCount', 'c.id as chunkId', 'v.embedding']),
      )
      .with('near', (of) =>
        of
          .selectFrom('mine as m')
          .innerJoin('knowledge_vectors as v', (on) => on.on('v.kbId', '=', kbId))
          .innerJoin('knowledge_chunks as c', (on) => on.onRef('c.id', '=', 'v.chunkId').onRef('c.itemId', '<', 'm.id'))
          .where(cosine, '>=', threshold)
          .groupBy(['m.id', 'm.contentHash', 'm.chunkCount', 'm.chunkId', 'c.itemId'])
          .select(['m.id', 'm.contentHash', 'm.chunkCount', 'c.itemId as otherId', sql<number>`max(${cosine})`.as('cosine')]),
      )
      .selectFrom('near as n')
      .innerJoin('standing as o', (on) => on.onRef('o.id', '=', 'n.otherId').onRef('o.contentHash', '<>', 'n.contentHash'))
      .groupBy(['o.id', 'n.id', 'n.chunkCount', 'o.chunkCount'])
      .having(score, '>=', threshold)
      .select(['o.id as olderId', 'n.id as newerId', shown.as('score')])
      .orderBy('n.id')
      .orderBy(shown, 'desc')
      .orderBy('o.id'),
  );
}

/** The lexemes of chunk `c`. */
const lexemes = sql<{ lexeme: string }>`unnest(tsvector_to_array(c.lexemes))`.as<'l'>(sql`l (lexeme)`);

/** Like `findNearItems`, but without vectors: by the share of common lexemes among all lexemes of two items. */
export function findOverlappingItems(
  tx: Tx,
  kbId: string,
  { ids, threshold }: { readonly ids: readonly string[]; readonly threshold: number },
): Promise<DuplicatePair[]> {
  const allLexemes = sql<string[]>`array_agg(distinct l.lexeme)`.as('lexemes');
  const common = sql<{ n: number }>`(select count(*) as n from unnest(p.lexemes) as x (lexeme) where x.lexeme = any (o.lexemes))`;
  return rows(
    tx.em,
    withStanding(kbId)
      .with('mine', (of) =>
        of
          .selectFrom('standing as s')
          .innerJoin('knowledge_chunks as c', 'c.itemId', 's.id')
          .crossJoinLateral(lexemes)
          .where('s.id', '=', anyId(ids))
          .groupBy(['s.id', 's.contentHash', 's.tokenCount'])
          .select(['s.id', 's.contentHash', 's.tokenCount', allLexemes]),
      )
      .with('pairs', (of) =>
        of
          .selectFrom('mine as m')
          .innerJoin('standing as o', (on) =>
            on
              .onRef('o.id', '<', 'm.id')
              .onRef('o.contentHash', '<>', 'm.contentHash')
              .on(
                sql<boolean>`o.token_count between m.token_count * ${threshold}::float8 / 2 and m.token_count * 2 / ${threshold}::float8`,
              ),
          )
          .select(['m.id', 'm.lexemes', 'o.id as otherId']),
      )
      .with('others', (of) =>
        of
          .selectFrom('knowledge_chunks as c')
          .crossJoinLateral(lexemes)
          .where('c.itemId', 'in', of.selectFrom('pairs').select('pairs.otherId'))
          .groupBy('c.itemId')
          .select(['c.itemId', allLexemes]),
      )
      .with('scored', (of) =>
        of
          .selectFrom('pairs as p')
          .innerJoin('others as o', 'o.itemId', 'p.otherId')
          .crossJoinLateral(common.as('s'))
          .select(['p.otherId', 'p.id', sql<number>`s.n::float8 / (cardinality(p.lexemes) + cardinality(o.lexemes) - s.n)`.as('score')]),
      )
      .selectFrom('scored')
      .where('scored.score', '>=', threshold)
      .select(['scored.otherId as olderId', 'scored.id as newerId', 'scored.score'])
      .orderBy('scored.id')
      .orderBy('scored.score', 'desc')
      .orderBy('scored.otherId'),
  );
}

/** Returns the content hashes of items, by id. */
export async function readHashes(tx: Tx, ids: readonly string[]): Promise<Record<string, string>> {
  const found = await rows(
    tx.em,
    query.selectFrom('knowledge_items as i').where('i.id', '=', anyId(ids)).select(['i.id', 'i.contentHash']),
  );
  return Object.fromEntries(found.map(({ id, contentHash }) => [id, contentHash]));
}
