import { sql } from 'kysely';
import { query } from '../../query.ts';
import { change, rows } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import { toHalfvec, type BaseModel, type NewVector } from './write-chunks.ts';

type Tx = Pick<TenantTransaction, 'em'>;

/** A chunk that an item should have. */
export interface ExpectedChunk {
  readonly itemId: string;
  readonly ord: number;
  readonly contentHash: string;
  readonly context: string | null;
  readonly page: number | null;
  /** Text of a tsvector. */
  readonly lexemes: string;
}

/** Returns which of these items have chunks that differ from the expected ones: those chunked differently, and those that differ only in lexemes. */
export async function itemsWithOtherChunks(
  tx: Tx,
  itemIds: readonly string[],
  expected: readonly ExpectedChunk[],
): Promise<{ readonly recut: ReadonlySet<string>; readonly relexed: ReadonlySet<string> }> {
  const of = <K extends keyof ExpectedChunk>(name: K) => expected.map((chunk) => chunk[name]);
  const lists = sql`${of('itemId')}::uuid[], ${of('ord')}::int[], ${of('contentHash')}::text[], ${of('context')}::text[], ${of('page')}::int[],
    ${of('lexemes')}::text[]`;
  const isRecut = sql<boolean>`(n.item_id is null or c.item_id is null or n.content_hash <> c.content_hash or n.context is distinct from c.context
    or n.page is distinct from c.page)`;
  const found = await rows(
    tx.em,
    query
      .selectFrom(({ selectFrom }) =>
        selectFrom('knowledge_chunks')
          .where(sql<boolean>`item_id = any (${itemIds}::uuid[])`)
          .select(['itemId', 'ord', 'contentHash', 'context', 'page', 'lexemes'])
          .as('c'),
      )
      .fullJoin(sql<ExpectedChunk>`unnest(${lists})`.as<'n'>(sql`n (item_id, ord, content_hash, context, page, lexemes)`), (join) =>
        join.onRef('n.itemId', '=', 'c.itemId').onRef('n.ord', '=', 'c.ord'),
      )
      .select([sql<string>`coalesce(n.item_id, c.item_id)`.as('id'), sql<boolean>`bool_or(${isRecut})`.as('recut')])
      .where(sql<boolean>`(${isRecut} or n.lexemes::tsvector <> c.lexemes)`)
      .groupBy(sql`coalesce(n.item_id, c.item_id)`),
  );
  const idsOf = (isRecut: boolean) => new Set(found.filter(({ recut }) => recut === isRecut).map(({ id }) => id));
  return { recut: idsOf(true), relexed: idsOf(false) };
}

/** Returns the existing vectors of items' chunks, with the texts that they were computed from. */
export async function vectorsOfItems(tx: Tx, itemIds: readonly string[]) {
  return rows(
    tx.em,
    query
      .selectFrom('knowledge_chunks as c')
      .innerJoin('knowledge_vectors as v', 'v.chunkId', 'c.id')
      .where(sql<boolean>`c.item_id = any (${[...itemIds]}::uuid[])`)
      .select(['c.context', 'c.text', sql<string>`v.embedding::text`.as('embedding')]),
  );
}

/** Returns the chunks of items that have no vector yet, in order. */
export async function chunksWithoutVector(tx: Tx, itemIds: readonly string[]) {
  return rows(
    tx.em,
    query
      .selectFrom('knowledge_chunks as c')
      .leftJoin('knowledge_vectors as v', 'v.chunkId', 'c.id')
      .where(sql<boolean>`c.item_id = any (${[...itemIds]}::uuid[])`)
      .where('v.chunkId', 'is', null)
      .select(['c.id', 'c.itemId', 'c.context', 'c.text'])
      .orderBy('c.itemId')
      .orderBy('c.ord'),
  );
}

/** Writes vectors for those chunks that still exist and have none. */
export async function addVectors(tx: Tx, base: BaseModel, vectors: readonly NewVector[]): Promise<void> {
  if (vectors.length === 0) return;
  const ids = vectors.map(({ chunkId }) => chunkId);
  const texts = vectors.map(({ embedding }) => toHalfvec(embedding));
  await change(
    tx.em,
    query
      .insertInto('knowledge_vectors')
      .columns(['chunkId', 'itemId', 'kbId', 'organizationId', 'workspaceId', 'embeddingModel', 'embeddingDim', 'embedding', 'createdAt'])
      .expression(
        query
          .selectFrom(sql<{ id: string; text: string }>`unnest(${ids}::uuid[], ${texts}::text[])`.as<'v'>(sql`v (id, text)`))
          .innerJoin('knowledge_chunks as c', (join) => join.onRef('c.id', '=', 'v.id').on('c.kbId', '=', base.id))
          .select(['c.id as chunkId', 'c.itemId', 'c.kbId', 'c.organizationId', 'c.workspaceId'])
          .select([
            sql<string>`${base.embeddingModel}::text`.as('embeddingModel'),
            sql<number>`${base.embeddingDim}::int`.as('embeddingDim'),
          ])
          .select([sql<string>`v.text::halfvec`.as('embedding'), sql<string>`now()`.as('createdAt')])
          .orderBy('c.id')
          .forKeyShare('c'),
      )
      .onConflict((conflict) => conflict.doNothing()),
  );
}
