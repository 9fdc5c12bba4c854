import { sql } from 'kysely';
import { anyId } from '../../expressions.ts';
import { query } from '../../query.ts';
import { change, rows } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';

type Tx = Pick<TenantTransaction, 'em'>;

/** The faults in the index of a live item. */
export interface ItemFault {
  readonly id: string;
  readonly faults: readonly ('chunks' | 'text' | 'vectors' | 'lexemes')[];
}

/** Returns ids of live items of a base after `after`, by id; `ids` restricts them to these. */
export async function nextItemIds(
  tx: Tx,
  kbId: string,
  { after, ids, limit }: { readonly after: string | null; readonly ids: readonly string[] | null; readonly limit: number },
): Promise<string[]> {
  let items = query.selectFrom('knowledge_live_items as i').where('i.kbId', '=', kbId).select('i.id').orderBy('i.id').limit(limit);
  if (after !== null) items = items.where('i.id', '>', after);
  if (ids !== null) items = items.where('i.id', '=', anyId(ids));
  return (await rows(tx.em, items)).map(({ id }) => id);
}

/**
 * Among items that should be indexed, returns those whose chunks are not slices of their content, differ in number from what the item counts, or lack
 * vectors that name their item. `hasVectors`: the base has a model.
 */
export function findItemFaults(tx: Tx, ids: readonly string[], hasVectors: boolean): Promise<ItemFault[]> {
  const faults = sql<ItemFault['faults']>`array_remove(
    array[case when x.wrong_chunks then 'chunks' end, case when x.wrong_text then 'text' end, case when x.wrong_vectors then 'vectors' end], null)`;
  return rows(
    tx.em,
    query
      .selectFrom(checkedItems(ids, hasVectors).as('x'))
      .where(sql<boolean>`(x.wrong_chunks or x.wrong_text or x.wrong_vectors)`)
      .select(['x.id', faults.as('faults')])
      .orderBy('x.id'),
  );
}

function checkedItems(ids: readonly string[], hasVectors: boolean) {
  return query
    .selectFrom('knowledge_live_items as i')
    .leftJoin('knowledge_chunks as c', 'c.itemId', 'i.id')
    .leftJoin('knowledge_vectors as v', (on) =>
      on.onRef('v.chunkId', '=', 'c.id').on(sql<boolean>`coalesce(v.item_id, c.item_id) = c.item_id`),
    )
    .where('i.id', '=', anyId(ids))
    .where('i.indexState', '<>', 'pending')
    .groupBy(['i.id', 'i.chunkCount', 'i.tokenCount', 'i.content', 'i.indexState'])
    .select([
      'i.id',
      sql<boolean>`i.chunk_count <> count(c.id) or i.token_count <> coalesce(sum(c.token_count), 0) or coalesce(max(c.ord) + 1, 0) <> count(c.id)
        or (count(c.id) = 0 and i.content ~ '[[:alnum:]]')`.as('wrongChunks'),
      sql<boolean>`coalesce(bool_or(c.text <> substr(i.content, c.char_start + 1, c.char_end - c.char_start)), false)`.as('wrongText'),
      sql<boolean>`${hasVectors}::boolean and i.index_state = 'ready' and count(c.id) > count(v.chunk_id)`.as('wrongVectors'),
    ]);
}

/** Returns the chunks of items that should be indexed, in the current language of their base, with the texts by which they are searched. */
export function readChunkTexts(tx: Tx, ids: readonly string[]) {
  return rows(
    tx.em,
    query
      .selectFrom('knowledge_live_chunks as c')
      .innerJoin('knowledge_items as i', 'i.id', 'c.itemId')
      .innerJoin('knowledge_bases as b', 'b.id', 'i.kbId')
      .where('c.itemId', '=', anyId(ids))
      .where('i.indexState', '<>', 'pending')
      .where(({ eb, or, ref }) => or([eb('b.relexedTo', 'is', null), eb('i.id', '<=', ref('b.relexedTo'))]))
      .select(['c.id', 'c.itemId', 'c.text', 'c.context'])
      .orderBy('c.itemId')
      .orderBy('c.ord'),
  );
}

/** Returns the items of those chunks whose lexemes differ from the given ones (texts of tsvectors). */
export async function itemsWithOtherLexemes(
  tx: Tx,
  chunks: readonly { readonly id: string; readonly lexemes: string }[],
): Promise<Set<string>> {
  const [ids, texts] = [chunks.map(({ id }) => id), chunks.map(({ lexemes }) => lexemes)];
  const expected = sql<{ id: string; lexemes: string }>`unnest(${ids}::uuid[], ${texts}::text[])`.as<'n'>(sql`n (id, lexemes)`);
  const found = await rows(
    tx.em,
    query
      .selectFrom(expected)
      .innerJoin('knowledge_chunks as c', 'c.id', 'n.id')
      .where(sql<boolean>`c.lexemes <> n.lexemes::tsvector`)
      .select('c.itemId')
      .distinct(),
  );
  return new Set(found.map(({ itemId }) => itemId));
}

/** Returns live derived items without evidence. */
export async function derivedWithoutEvidence(tx: Tx, ids: readonly string[]) {
  return rows(
    tx.em,
    query
      .selectFrom('knowledge_live_items as i')
      .where('i.id', '=', anyId(ids))
      .where('i.origin', '=', 'derived')
      .where(sql<boolean>`jsonb_array_length(i.evidence) = 0`)
      .select(['i.id', 'i.version'])
      .orderBy('i.id'),
  );
}

/** Returns items, by id after `after`, that don't exist or are deleted but still have chunks, with the number of chunks. */
export function findOrphanChunks(tx: Tx, kbId: string, { after, limit }: { readonly after: string | null; readonly limit: number }) {
  let chunks = query
    .selectFrom('knowledge_chunks as c')
    .leftJoin('knowledge_items as i', 'i.id', 'c.itemId')
    .where('c.kbId', '=', kbId)
    .where(({ eb, or }) => or([eb('i.id', 'is', null), eb('i.deletedAt', 'is not', null)]))
    .groupBy('c.itemId')
    .select(({ fn }) => ['c.itemId', fn.countAll<number>().as('chunks')])
    .orderBy('c.itemId')
    .limit(limit);
  if (after !== null) chunks = chunks.where('c.itemId', '>', after);
  return rows(tx.em, chunks);
}

/** Corrects the vectors of items' chunks that name another item. */
export async function renameVectors(tx: Tx, itemIds: readonly string[]): Promise<void> {
  await change(
    tx.em,
    query
      .updateTable('knowledge_vectors')
      .from('knowledge_chunks as c')
      .set(({ ref }) => ({ itemId: ref('c.itemId') }))
      .whereRef('c.id', '=', 'knowledge_vectors.chunkId')
      .where('c.itemId', '=', anyId(itemIds))
      .whereRef('knowledge_vectors.itemId', '<>', 'c.itemId'),
  );
}

/** Deletes the chunks of items that don't exist or are deleted; the caller recounts the base afterwards. */
export function dropOrphanChunks(tx: Tx, itemIds: readonly string[]): Promise<number> {
  return change(
    tx.em,
    query
      .deleteFrom('knowledge_chunks as c')
      .where('c.itemId', '=', anyId(itemIds))
      .where(({ exists, not, selectFrom }) =>
        not(exists(selectFrom('knowledge_items as i').select('i.id').whereRef('i.id', '=', 'c.itemId').where('i.deletedAt', 'is', null))),
      ),
  );
}

/** Returns relations of a base with a deleted item at one end. */
export async function findOrphanRelations(tx: Tx, kbId: string, limit: number): Promise<string[]> {
  const found = await rows(
    tx.em,
    query
      .selectFrom('knowledge_relations as r')
      .where('r.kbId', '=', kbId)
      .where(({ exists, ref, selectFrom }) =>
        exists(
          selectFrom('knowledge_items as i')
            .select('i.id')
            .where('i.id', 'in', [ref('r.fromItemId'), ref('r.toItemId')])
            .where('i.deletedAt', 'is not', null),
        ),
      )
      .select('r.id')
      .orderBy('r.id')
      .limit(limit),
  );
  return found.map(({ id }) => id);
}

/** Deletes relations. */
export async function dropRelations(tx: Tx, ids: readonly string[]): Promise<void> {
  await change(tx.em, query.deleteFrom('knowledge_relations').where('id', '=', anyId(ids)));
}

/** Marks items as waiting for what their index lacks. Only derived columns change, so their version stays. */
export async function markPending(tx: Tx, ids: readonly string[]): Promise<void> {
  await change(
    tx.em,
    query
      .updateTable('knowledge_items')
      .set(({ ref }) => ({ indexState: 'pending', indexError: null, updatedAt: ref('updatedAt') }))
      .where('id', '=', anyId(ids))
      .where('deletedAt', 'is', null)
      .where('stagedRunId', 'is', null),
  );
}

/** Returns title and content of live items, locked against changes. */
export function shareItemTexts(tx: Tx, ids: readonly string[]) {
  return rows(
    tx.em,
    query
      .selectFrom('knowledge_items as i')
      .where('i.id', '=', anyId(ids))
      .where('i.deletedAt', 'is', null)
      .where('i.stagedRunId', 'is', null)
      .select(['i.id', 'i.title', 'i.content', 'i.pages', 'i.rowVersion'])
      .orderBy('i.id')
      .forUpdate(),
  );
}
