import { change, rows } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import type { PendingItem } from '../items/pending-items.ts';

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
  const found = await rows<{ id: string }>(
    tx.em,
    `select id from knowledge_live_items where kb_id = ? and (?::uuid is null or id > ?::uuid) and (?::uuid[] is null or id = any (?::uuid[])) order by id limit ?`,
    [kbId, after, after, ids, ids, limit],
  );
  return found.map(({ id }) => id);
}

/**
 * Among items that should be indexed, returns those whose chunks are not slices of their content, differ in number from what the item counts, or lack
 * vectors that name their item. `hasVectors`: the base has a model.
 */
export function findItemFaults(tx: Tx, ids: readonly string[], hasVectors: boolean): Promise<ItemFault[]> {
  return rows(
    tx.em,
    `select id, array_remove(array[case when wrong_chunks then 'chunks' end, case when wrong_text then 'text' end, case when wrong_vectors then 'vectors' end], null) as faults
       from (
         select i.id,
           i.chunk_count <> count(c.id) or i.token_count <> coalesce(sum(c.token_count), 0) or coalesce(max(c.ord) + 1, 0) <> count(c.id)
             or (count(c.id) = 0 and i.content ~ '[[:alnum:]]') as wrong_chunks,
           coalesce(bool_or(c.text <> substr(i.content, c.char_start + 1, c.char_end - c.char_start)), false) as wrong_text,
           ?::boolean and i.index_state = 'ready' and count(c.id) > count(v.chunk_id) as wrong_vectors
         from knowledge_live_items i left join knowledge_chunks c on c.item_id = i.id left join knowledge_vectors v
             on v.chunk_id = c.id and coalesce(v.item_id, c.item_id) = c.item_id
         where i.id = any (?::uuid[]) and i.index_state <> 'pending'
         group by i.id, i.chunk_count, i.token_count, i.content, i.index_state) x
      where wrong_chunks or wrong_text or wrong_vectors order by id`,
    [hasVectors, [...ids]],
  );
}

/** Returns the chunks of items that should be indexed, in the current language of their base, with the texts by which they are searched. */
export function readChunkTexts(tx: Tx, ids: readonly string[]) {
  return rows<{ id: string; itemId: string; text: string; context: string | null }>(
    tx.em,
    `select c.id, c.item_id as "itemId", c.text, c.context from knowledge_live_chunks c join knowledge_items i on i.id = c.item_id
       join knowledge_bases b on b.id = i.kb_id
      where c.item_id = any (?::uuid[]) and i.index_state <> 'pending' and (b.relexed_to is null or i.id <= b.relexed_to) order by c.item_id, c.ord`,
    [[...ids]],
  );
}

/** Returns the items of those chunks whose lexemes differ from the given ones (texts of tsvectors). */
export async function itemsWithOtherLexemes(
  tx: Tx,
  chunks: readonly { readonly id: string; readonly lexemes: string }[],
): Promise<Set<string>> {
  const found = await rows<{ id: string }>(
    tx.em,
    `select distinct c.item_id as id from unnest(?::uuid[], ?::text[]) as n (id, lexemes) join knowledge_chunks c on c.id = n.id where c.lexemes <> n.lexemes::tsvector`,
    [chunks.map(({ id }) => id), chunks.map(({ lexemes }) => lexemes)],
  );
  return new Set(found.map(({ id }) => id));
}

/** Returns live derived items without evidence. */
export async function derivedWithoutEvidence(tx: Tx, ids: readonly string[]): Promise<{ id: string; version: number }[]> {
  return rows(
    tx.em,
    `select id, version from knowledge_live_items where id = any (?::uuid[]) and origin = 'derived' and jsonb_array_length(evidence) = 0 order by id`,
    [[...ids]],
  );
}

/** Returns items, by id after `after`, that don't exist or are deleted but still have chunks, with the number of chunks. */
export function findOrphanChunks(tx: Tx, kbId: string, { after, limit }: { readonly after: string | null; readonly limit: number }) {
  return rows<{ itemId: string; chunks: number }>(
    tx.em,
    `select c.item_id as "itemId", count(*)::int as chunks from knowledge_chunks c left join knowledge_items i on i.id = c.item_id
      where c.kb_id = ? and (i.id is null or i.deleted_at is not null) and (?::uuid is null or c.item_id > ?::uuid) group by 1 order by 1 limit ?`,
    [kbId, after, after, limit],
  );
}

/** Corrects the vectors of items' chunks that name another item. */
export async function renameVectors(tx: Tx, itemIds: readonly string[]): Promise<void> {
  await change(
    tx.em,
    `update knowledge_vectors v set item_id = c.item_id from knowledge_chunks c where c.id = v.chunk_id and c.item_id = any (?::uuid[]) and v.item_id <> c.item_id`,
    [[...itemIds]],
  );
}

/** Deletes the chunks of items that don't exist or are deleted; the caller recounts the base afterwards. */
export function dropOrphanChunks(tx: Tx, itemIds: readonly string[]): Promise<number> {
  return change(
    tx.em,
    `delete from knowledge_chunks c where c.item_id = any (?::uuid[]) and not exists (select from knowledge_items i where i.id = c.item_id and i.deleted_at is null)`,
    [[...itemIds]],
  );
}

/** Returns relations of a base with a deleted item at one end. */
export async function findOrphanRelations(tx: Tx, kbId: string, limit: number): Promise<string[]> {
  const found = await rows<{ id: string }>(
    tx.em,
    `select r.id from knowledge_relations r where r.kb_id = ? and exists (
       select from knowledge_items i where i.id in (r.from_item_id, r.to_item_id) and i.deleted_at is not null) order by r.id limit ?`,
    [kbId, limit],
  );
  return found.map(({ id }) => id);
}

/** Deletes relations. */
export async function dropRelations(tx: Tx, ids: readonly string[]): Promise<void> {
  await change(tx.em, 'delete from knowledge_relations where id = any (?::uuid[])', [[...ids]]);
}

/** A stored counter and the actual count. */
export interface WrongCount {
  readonly name: string;
  readonly stored: number | null;
  readonly actual: number | null;
}

// Each item looks up its own chunks: in a plain join, PostgreSQL could compare every chunk with every item of a base that the statistics don't know.
const chunksSql = `knowledge_live_items i cross join lateral (select * from knowledge_chunks c where c.item_id = i.id offset 0) c where i.kb_id = ?`;

const countedSql = `
  select (select count(*) filter (where curation_state = 'pending') from items)::int as pending, (select count(*) filter (where curation_state = 'reviewed') from items)::int as reviewed,
         (select count(*) filter (where curation_state = 'promoted') from items)::int as promoted, (select count(*) filter (where curation_state = 'superseded') from items)::int as superseded,
         (select count(*) filter (where curation_state = 'retired') from items)::int as retired,
         count(*)::int as chunks, coalesce(sum(c.token_count), 0)::int as tokens, coalesce(sum(c.lex_len), 0)::int as lex_len
    from ${chunksSql}`;

const itemsSql = 'items as (select curation_state from knowledge_live_items where kb_id = ?)';

/** Returns the counters of a base that differ from the actual counts, in one snapshot. */
export function findWrongCounters(tx: Tx, kbId: string): Promise<WrongCount[]> {
  return rows(
    tx.em,
    `with ${itemsSql}, actual as (${countedSql})
     select v.name, v.stored, v.actual from actual a left join knowledge_base_counters c on c.kb_id = ?
       cross join lateral (values ('pending', c.pending, a.pending), ('reviewed', c.reviewed, a.reviewed), ('promoted', c.promoted, a.promoted), ('superseded', c.superseded, a.superseded),
         ('retired', c.retired, a.retired), ('chunks', c.chunks, a.chunks), ('tokens', c.tokens, a.tokens), ('lex_len', c.lex_len, a.lex_len)) as v (name, stored, actual)
      where v.stored is distinct from v.actual`,
    [kbId, kbId, kbId],
  );
}

const termsSql = `
  select substr(l.lexeme, strpos(l.lexeme, ':') + 1) as lexeme, count(*)::int as df
    from (select c.lexemes from ${chunksSql}) c, unnest(tsvector_to_array(c.lexemes)) as l (lexeme) group by 1`;

/** Returns terms of a base with a wrong count, at most 1,000. `actual` null: no chunk contains the term. */
export async function findWrongTerms(tx: Tx, kbId: string): Promise<WrongCount[]> {
  return rows(
    tx.em,
    `select coalesce(a.lexeme, t.lexeme) as name, t.df as stored, a.df as actual
       from (${termsSql}) a full join (select lexeme, df from knowledge_terms where kb_id = ?) t on t.lexeme = a.lexeme where t.df is distinct from a.df order by 1 limit 1000`,
    [kbId, kbId],
  );
}

/** Recounts a base and corrects its counters and terms. The caller keeps writers out of the base. */
export async function recount(tx: Tx, kbId: string): Promise<void> {
  await change(
    tx.em,
    `with ${itemsSql}, actual as (${countedSql})
     update knowledge_base_counters c set pending = a.pending, reviewed = a.reviewed, promoted = a.promoted, superseded = a.superseded, retired = a.retired,
       chunks = a.chunks, tokens = a.tokens, lex_len = a.lex_len from actual a where c.kb_id = ?`,
    [kbId, kbId, kbId],
  );
  await change(
    tx.em,
    `with actual as materialized (${termsSql}), gone as (
       delete from knowledge_terms t where t.kb_id = ? and t.lexeme not in (select lexeme from actual))
     insert into knowledge_terms (kb_id, lexeme, organization_id, workspace_id, df)
     select b.id, a.lexeme, b.organization_id, b.workspace_id, a.df from actual a, knowledge_bases b where b.id = ? order by a.lexeme collate "C"
     on conflict (kb_id, lexeme) do update set df = excluded.df where knowledge_terms.df <> excluded.df`,
    [kbId, kbId, kbId],
  );
}

/** Marks items as waiting for what their index lacks. Only derived columns change, so their version stays. */
export async function markPending(tx: Tx, ids: readonly string[]): Promise<void> {
  await change(
    tx.em,
    `update knowledge_items set index_state = 'pending', index_error = null where id = any (?::uuid[]) and deleted_at is null and staged_run_id is null`,
    [[...ids]],
  );
}

/** Returns title and content of live items, locked against changes. */
export function shareItemTexts(tx: Tx, ids: readonly string[]) {
  return rows<PendingItem>(
    tx.em,
    `select id, title, content, pages, row_version as "rowVersion" from knowledge_items where id = any (?::uuid[]) and deleted_at is null and staged_run_id is null order by id for update`,
    [[...ids]],
  );
}
