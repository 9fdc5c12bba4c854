import { rows } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';

type Tx = Pick<TenantTransaction, 'em'>;

/** Two live items with the same meaning, the older one first; `score` is 1 for equal contents. */
export interface DuplicatePair {
  readonly olderId: string;
  readonly newerId: string;
  readonly score: number;
}

/** Live items that still count, being neither superseded nor retired. */
const standing = `select id, content_hash, chunk_count, token_count from knowledge_live_items where kb_id = ? and curation_state in ('pending', 'reviewed', 'promoted')`;

/** Returns items that have an older twin with an equal content hash, each with the oldest one. */
export function findEqualItems(tx: Tx, kbId: string, ids: readonly string[]): Promise<DuplicatePair[]> {
  return rows(
    tx.em,
    `with standing as (${standing})
     select (array_agg(o.id order by o.id))[1] as "olderId", n.id as "newerId", 1::float8 as score
       from standing n join standing o on o.content_hash = n.content_hash and o.id < n.id where n.id = any (?::uuid[]) group by n.id order by n.id`,
    [kbId, [...ids]],
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
  return rows(
    tx.em,
    `with standing as (${standing}),
          mine as (select s.id, s.content_hash, s.chunk_count, c.id as chunk_id, v.embedding from standing s join knowledge_chunks c on c.item_id = s.id
                     join knowledge_vectors v on v.chunk_id = c.id where s.id = any (?::uuid[])),
          near as (select m.id, m.content_hash, m.chunk_count, m.chunk_id, c.item_id as other_id, max(1 - (v.embedding <=> m.embedding)) as cosine
                     from mine m join knowledge_vectors v on v.kb_id = ? join knowledge_chunks c on c.id = v.chunk_id and c.item_id < m.id
                    where 1 - (v.embedding <=> m.embedding) >= ? group by 1, 2, 3, 4, 5)
     select o.id as "olderId", n.id as "newerId", least(1, sum(n.cosine) / greatest(n.chunk_count, o.chunk_count))::float8 as score
       from near n join standing o on o.id = n.other_id and o.content_hash <> n.content_hash
      group by o.id, n.id, n.chunk_count, o.chunk_count having sum(n.cosine) / greatest(n.chunk_count, o.chunk_count) >= ? order by 2, 3 desc, 1`,
    [kbId, [...ids], kbId, threshold, threshold],
  );
}

/** Like `findNearItems`, but without vectors: by the share of common lexemes among all lexemes of two items. */
export function findOverlappingItems(
  tx: Tx,
  kbId: string,
  { ids, threshold }: { readonly ids: readonly string[]; readonly threshold: number },
): Promise<DuplicatePair[]> {
  return rows(
    tx.em,
    `with standing as (${standing}),
          mine as (select s.id, s.content_hash, s.token_count, array_agg(distinct l.lexeme) as lexemes from standing s join knowledge_chunks c on c.item_id = s.id,
                     unnest(tsvector_to_array(c.lexemes)) as l (lexeme) where s.id = any (?::uuid[]) group by 1, 2, 3),
          pairs as (select m.id, m.lexemes, o.id as other_id from mine m join standing o on o.id < m.id and o.content_hash <> m.content_hash
                     and o.token_count between m.token_count * ?::float8 / 2 and m.token_count * 2 / ?::float8),
          others as (select c.item_id, array_agg(distinct l.lexeme) as lexemes from knowledge_chunks c, unnest(tsvector_to_array(c.lexemes)) as l (lexeme)
                      where c.item_id in (select other_id from pairs) group by 1),
          scored as (select p.other_id, p.id, s.both::float8 / (cardinality(p.lexemes) + cardinality(o.lexemes) - s.both) as score
                       from pairs p join others o on o.item_id = p.other_id
                       cross join lateral (select count(*) as both from unnest(p.lexemes) as x (lexeme) where x.lexeme = any (o.lexemes)) s)
     select other_id as "olderId", id as "newerId", score from scored where score >= ? order by 2, 3 desc, 1`,
    [kbId, [...ids], threshold, threshold, threshold],
  );
}

/** Returns the content hashes of items, by id. */
export async function readHashes(tx: Tx, ids: readonly string[]): Promise<Record<string, string>> {
  const found = await rows<{ id: string; hash: string }>(
    tx.em,
    'select id, content_hash as hash from knowledge_items where id = any (?::uuid[])',
    [[...ids]],
  );
  return Object.fromEntries(found.map(({ id, hash }) => [id, hash]));
}
