import { newId } from '../../ids.ts';
import { change, rows } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import type { BasePair } from './base-pair.ts';
import type { PendingItem } from '../items/pending-items.ts';
import type { BaseModel, NewChunk } from '../items/write-chunks.ts';

type Tx = Pick<TenantTransaction, 'em'>;

// The statistics don't know a new base, and PostgreSQL takes an unknown one for empty: it would read all of it for each page, or join each row with each.
// So each id looks up its row separately: `lateral` with `offset 0` stays a loop that finds rows by the full unique key.

/** Marks items as pending again whose index failed before they were chunked. */
export async function retryUncut(tx: Tx, kbId: string): Promise<void> {
  await change(
    tx.em,
    `update knowledge_items set index_state = 'pending', index_error = null
      where kb_id = ? and index_state = 'failed' and chunk_count = 0 and deleted_at is null and staged_run_id is null`,
    [kbId],
  );
}

/** Returns live items of a base that have never been chunked, by id: at most 32, and no further item after a limit of characters. */
export function uncutItems(tx: Tx, kbId: string, after: string | null) {
  return rows<PendingItem>(
    tx.em,
    `select id, title, content, pages, row_version as "rowVersion" from (
       select id, title, content, pages, row_version, sum(length(content)) over (order by id) - length(content) as before
         from knowledge_items
        where kb_id = ? and deleted_at is null and staged_run_id is null and index_state = 'pending' and chunk_count = 0
          and id > coalesce(?::uuid, '00000000-0000-0000-0000-000000000000')
        order by id limit 32) p
      where before < 400000 order by id`,
    [kbId, after],
  );
}

/** Copies the sources of a base, with links to their files. From then on, syncs go to the copies. Returns the number of sources copied. */
export async function copySources(tx: Tx, { from, to }: BasePair): Promise<number> {
  const ids = (
    await rows<{ id: string }>(tx.em, 'select id from knowledge_sources where kb_id = ? and deleted_at is null order by id', [from.id])
  ).map(({ id }) => id);
  if (ids.length === 0) return 0;
  const copied = await change(
    tx.em,
    `insert into knowledge_sources (id, kb_id, organization_id, workspace_id, kind, title, uri, attachment_id, text, item_kind, tags, metadata, media_type,
       content_hash, extractor, state, item_count, chunk_count, token_count, warnings, error, run_id, sync_no, predecessor_source_id, last_synced_at,
       created_by, created_at, updated_at)
     select v.id, ?, s.organization_id, s.workspace_id, s.kind, s.title, s.uri, s.attachment_id, s.text, s.item_kind, s.tags, s.metadata, s.media_type,
       s.content_hash, s.extractor, s.state, s.item_count, s.chunk_count, s.token_count, s.warnings, s.error, null, s.sync_no, s.id, s.last_synced_at,
       s.created_by, s.created_at, s.updated_at
       from unnest(?::uuid[], ?::uuid[]) as v (old_id, id) join knowledge_sources s on s.id = v.old_id
     on conflict (kb_id, predecessor_source_id) where predecessor_source_id is not null do nothing`,
    [to.id, ids, ids.map(() => newId())],
  );
  await linkFiles(tx, to);
  return copied;
}

async function linkFiles(tx: Tx, { id }: BaseModel): Promise<void> {
  const wanted = await rows<{ id: string }>(
    tx.em,
    `select s.id from knowledge_sources s where s.kb_id = ? and s.attachment_id is not null
        and not exists (select from attachment_links l where l.owner_kind = 'source' and l.owner_id = s.id)`,
    [id],
  );
  if (wanted.length === 0) return;
  await change(
    tx.em,
    `insert into attachment_links (id, attachment_id, organization_id, workspace_id, owner_kind, owner_id, created_at)
     select v.id, s.attachment_id, s.organization_id, s.workspace_id, 'source', s.id, now()
       from unnest(?::uuid[], ?::uuid[]) as v (id, source_id) join knowledge_sources s on s.id = v.source_id on conflict do nothing`,
    [wanted.map(() => newId()), wanted.map((source) => source.id)],
  );
}

/** Returns ids of the next live items of a base after `after`: at most 256, and no further item after a limit of characters. */
export async function nextItemIds(tx: Tx, kbId: string, after: string | null): Promise<string[]> {
  const found = await rows<{ id: string }>(
    tx.em,
    `select id from (
       select id, sum(length(content)) over (order by id) - length(content) as before from knowledge_items
        where kb_id = ? and deleted_at is null and staged_run_id is null and id > coalesce(?::uuid, '00000000-0000-0000-0000-000000000000')
        order by id limit 256) p
      where before < 1000000 order by id`,
    [kbId, after],
  );
  return found.map(({ id }) => id);
}

/** Items `n` of a base that are copies of `o`; its parameters are the ids of the originals and of the base. */
const copiesOf = `unnest(?::uuid[]) as o (id) cross join (select ?::uuid as id offset 0) b
  cross join lateral (select * from knowledge_items n where n.kb_id = b.id and n.predecessor_item_id = o.id offset 0) n`;

/** Copies items with their current text; existing copies stay. The copies wait for their chunks. */
export async function copyItems(tx: Tx, { from, to }: BasePair, ids: readonly string[]): Promise<void> {
  await change(
    tx.em,
    `insert into knowledge_items (id, kb_id, organization_id, workspace_id, source_id, external_id, kind, title, content, content_hash, tags, metadata, fact,
       evidence, pages, valid_from, valid_until, observed_at, origin, trust, curation_state, predecessor_item_id, token_count, chunk_count, index_state,
       judged, last_used_at, version, created_by, created_at, updated_at)
     select v.id, ?, i.organization_id, i.workspace_id, s.id, i.external_id, i.kind, i.title, i.content, i.content_hash, i.tags, i.metadata, i.fact,
       i.evidence, i.pages, i.valid_from, i.valid_until, i.observed_at, i.origin, i.trust, i.curation_state, i.id, i.token_count, i.chunk_count, 'pending',
       i.judged - 'cleared', i.last_used_at, i.version, i.created_by, i.created_at, i.updated_at
       from unnest(?::uuid[], ?::uuid[]) as v (old_id, id) cross join lateral (select * from knowledge_items i where i.id = v.old_id offset 0) i
       left join knowledge_sources s on s.kb_id = ? and s.predecessor_source_id = i.source_id
      where i.kb_id = ?
     on conflict (kb_id, predecessor_item_id) where predecessor_item_id is not null do nothing`,
    [to.id, [...ids], ids.map(() => newId()), to.id, from.id],
  );
  await change(
    tx.em,
    `insert into knowledge_item_versions (item_id, version, kb_id, organization_id, workspace_id, title, content, content_hash, metadata, tags, actor, reason, created_at)
     select n.id, v.version, n.kb_id, n.organization_id, n.workspace_id, v.title, v.content, v.content_hash, v.metadata, v.tags, v.actor, v.reason, v.created_at
       from ${copiesOf} cross join lateral (select * from knowledge_item_versions v where v.item_id = o.id and v.version = n.version offset 0) v
     on conflict do nothing`,
    [[...ids], to.id],
  );
}

/** A chunk that the new base lacks: `itemId` is its item there; the predecessors are the item and chunk that it is copied from. */
export type LackingChunk = Omit<NewChunk, 'id' | 'lexemes' | 'lexLen'> & {
  readonly predecessorId: string;
  readonly predecessorItemId: string;
};

/** Returns the chunks of items that the new base lacks, in order. */
export function lackingChunks(tx: Tx, { from, to }: BasePair, itemIds: readonly string[]): Promise<LackingChunk[]> {
  return rows<LackingChunk>(
    tx.em,
    `select c.id as "predecessorId", o.id as "predecessorItemId", n.id as "itemId", c.ord, c.text, c.context, c.char_start as "charStart", c.char_end as "charEnd", c.page,
            c.token_count as "tokenCount", c.content_hash as "contentHash"
       from ${copiesOf} cross join lateral (select * from knowledge_chunks c where c.item_id = o.id offset 0) c
      where c.kb_id = ? and not exists (select from knowledge_chunks d where d.kb_id = b.id and d.predecessor_chunk_id = c.id offset 0)
      order by o.id, c.ord`,
    [[...itemIds], to.id, from.id],
  );
}

/** A chunk as it is written to the new base. */
export type ChunkCopy = LackingChunk & Pick<NewChunk, 'lexemes' | 'lexLen'>;

/** Writes chunks to the new base. Returns the ids of those that were missing, by the id of the chunk that they are copied from. */
export async function insertCopies(tx: Tx, to: BaseModel, chunks: readonly ChunkCopy[]): Promise<ReadonlyMap<string, string>> {
  const of = <K extends keyof ChunkCopy>(name: K) => chunks.map((chunk) => chunk[name]);
  const written = await rows<{ id: string; predecessorId: string }>(
    tx.em,
    `insert into knowledge_chunks (id, kb_id, organization_id, workspace_id, item_id, ord, text, context, char_start, char_end, page, token_count, content_hash,
       lexemes, lex_len, predecessor_chunk_id, created_at)
     select c.id, ?, ?::uuid, ?::uuid, c.item_id, c.ord, c.text, c.context, c.char_start, c.char_end, c.page, c.token_count, c.content_hash, c.lexemes::tsvector,
       c.lex_len, c.predecessor_id, now()
       from unnest(?::uuid[], ?::uuid[], ?::int[], ?::text[], ?::text[], ?::int[], ?::int[], ?::int[], ?::int[], ?::text[], ?::text[], ?::int[], ?::uuid[])
         as c (id, item_id, ord, text, context, char_start, char_end, page, token_count, content_hash, lexemes, lex_len, predecessor_id)
     on conflict (kb_id, predecessor_chunk_id) do nothing returning id, predecessor_chunk_id as "predecessorId"`,
    [
      to.id,
      to.organizationId,
      to.workspaceId,
      chunks.map(() => newId()),
      ...[of('itemId'), of('ord'), of('text'), of('context'), of('charStart'), of('charEnd'), of('page'), of('tokenCount')],
      ...[of('contentHash'), of('lexemes'), of('lexLen'), of('predecessorId')],
    ],
  );
  return new Map(written.map(({ id, predecessorId }) => [predecessorId, id]));
}

/** Settles copied items whose chunks are all present: as ready, or as failed when one lacks a vector. */
export async function settleCopies(tx: Tx, { to }: BasePair, itemIds: readonly string[]): Promise<void> {
  await change(
    tx.em,
    `update knowledge_items n set index_state = case when m.lacks then 'failed' else 'ready' end, index_error = case when m.lacks then 'embedding_refused' end
       from (select n.id, ?::int > 0 and exists (select from knowledge_chunks c where c.item_id = n.id and not exists (select from knowledge_vectors v where v.chunk_id = c.id)) as lacks
               from ${copiesOf}) m
      where m.id = n.id and n.index_state = 'pending'`,
    [to.embeddingDim, [...itemIds], to.id],
  );
}

/** Copies the links between items: successors and relations. Repeatable. Returns the number of relations written. */
export async function copyLinks(tx: Tx, { from, to }: BasePair): Promise<number> {
  await change(
    tx.em,
    `update knowledge_items n set superseded_by_id = x.successor_id
       from (select c.id, m.id as successor_id from knowledge_items s cross join (select ?::uuid as id offset 0) b
               cross join lateral (select * from knowledge_items c where c.kb_id = b.id and c.predecessor_item_id = s.id offset 0) c
               cross join lateral (select id from knowledge_items m where m.kb_id = b.id and m.predecessor_item_id = s.superseded_by_id offset 0) m
              where s.kb_id = ? and s.superseded_by_id is not null offset 0) x
      where n.id = x.id and n.superseded_by_id is distinct from x.successor_id`,
    [to.id, from.id],
  );
  const ids = (
    await rows<{ id: string }>(
      tx.em,
      `select r.id from knowledge_relations r cross join (select ?::uuid as id offset 0) b where r.kb_id = ? and not exists (
         select from (select id from knowledge_items f where f.kb_id = b.id and f.predecessor_item_id = r.from_item_id offset 0) f
           cross join (select id from knowledge_items t where t.kb_id = b.id and t.predecessor_item_id = r.to_item_id offset 0) t
           join knowledge_relations x on x.from_item_id = f.id and x.to_item_id = t.id and x.type = r.type offset 0)
        order by r.id limit 20000`,
      [to.id, from.id],
    )
  ).map(({ id }) => id);
  if (ids.length === 0) return 0;
  return change(
    tx.em,
    `insert into knowledge_relations (id, kb_id, organization_id, workspace_id, from_item_id, to_item_id, type, note, created_by, created_at)
     select v.id, f.kb_id, f.organization_id, f.workspace_id, f.id, t.id, r.type, r.note, r.created_by, r.created_at
       from unnest(?::uuid[], ?::uuid[]) as v (old_id, id) join knowledge_relations r on r.id = v.old_id cross join (select ?::uuid as id offset 0) b
       cross join lateral (select * from knowledge_items f where f.kb_id = b.id and f.predecessor_item_id = r.from_item_id offset 0) f
       cross join lateral (select id from knowledge_items t where t.kb_id = b.id and t.predecessor_item_id = r.to_item_id offset 0) t
     on conflict do nothing`,
    [ids, ids.map(() => newId()), to.id],
  );
}
