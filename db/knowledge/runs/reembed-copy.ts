import { sql } from 'kysely';
import { newId } from '../../ids.ts';
import { query } from '../../query.ts';
import { change, rows } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import type { BasePair } from './base-pair.ts';
import { charsBefore } from './chars-before.ts';
import { copyOf, none, oneBase, withNewIds } from './copies.ts';
import type { KnowledgeJudged } from '../items/knowledge-item.entity.ts';
import { noItem } from '../items/relex-items.ts';
import type { BaseModel, NewChunk } from '../items/write-chunks.ts';

type Tx = Pick<TenantTransaction, 'em'>;

/** Marks items as pending again whose index failed before they were chunked. */
export async function retryUncut(tx: Tx, kbId: string): Promise<void> {
  await change(
    tx.em,
    query
      .updateTable('knowledge_items')
      .set(({ ref }) => ({ indexState: 'pending' as const, indexError: null, updatedAt: ref('updatedAt') }))
      .where('kbId', '=', kbId)
      .where('indexState', '=', 'failed')
      .where('chunkCount', '=', 0)
      .where('deletedAt', 'is', null)
      .where('stagedRunId', 'is', null),
  );
}

/** The next live items of a base after `after`, by id. */
function liveItems(kbId: string, after: string | null) {
  return query
    .selectFrom('knowledge_items as i')
    .where('i.kbId', '=', kbId)
    .where('i.deletedAt', 'is', null)
    .where('i.stagedRunId', 'is', null)
    .where('i.id', '>', after ?? noItem)
    .select(['i.id', charsBefore])
    .orderBy('i.id');
}

/** Returns live items of a base that have never been chunked, by id: at most 32, and no further item after a limit of characters. */
export function uncutItems(tx: Tx, kbId: string, after: string | null) {
  const page = liveItems(kbId, after)
    .where('i.indexState', '=', sql.lit<'pending'>('pending'))
    .where('i.chunkCount', '=', 0)
    .select(['i.title', 'i.content', 'i.pages', 'i.rowVersion'])
    .limit(32);
  return rows(
    tx.em,
    query
      .selectFrom(page.as('p'))
      .where('p.before', '<', 400_000)
      .select(['p.id', 'p.title', 'p.content', 'p.pages', 'p.rowVersion'])
      .orderBy('p.id'),
  );
}

/** Returns ids of the next live items of a base after `after`: at most 256, and no further item after a limit of characters. */
export async function nextItemIds(tx: Tx, kbId: string, after: string | null): Promise<string[]> {
  const page = liveItems(kbId, after).limit(256);
  const found = await rows(tx.em, query.selectFrom(page.as('p')).where('p.before', '<', 1_000_000).select('p.id').orderBy('p.id'));
  return found.map(({ id }) => id);
}

/** Items `n` of a base `b` that are copies of `o`. */
function copiesOf(ids: readonly string[], kbId: string) {
  return query
    .selectFrom(sql<{ id: string }>`unnest(${ids}::uuid[])`.as<'o'>(sql`o (id)`))
    .crossJoin(oneBase(kbId))
    .crossJoinLateral(({ ref }) => copyOf(ref('o.id')).as('n'));
}

const itemColumns = [
  'organizationId',
  'workspaceId',
  'externalId',
  'kind',
  'title',
  'content',
  'contentHash',
  'tags',
  'metadata',
  'fact',
  'evidence',
  'pages',
  'validFrom',
  'validUntil',
  'observedAt',
  'origin',
  'trust',
  'curationState',
  'tokenCount',
  'chunkCount',
  'lastUsedAt',
  'version',
  'createdBy',
  'createdAt',
  'updatedAt',
] as const;

const versionColumns = ['title', 'content', 'contentHash', 'metadata', 'tags', 'actor', 'reason', 'createdAt'] as const;

/** Copies items with their current text; existing copies stay. The copies wait for their chunks. */
export async function copyItems(tx: Tx, { from, to }: BasePair, ids: readonly string[]): Promise<void> {
  await change(
    tx.em,
    query
      .insertInto('knowledge_items')
      .columns(['id', 'kbId', 'sourceId', 'predecessorItemId', 'indexState', 'judged', ...itemColumns])
      .expression(({ selectFrom }) =>
        selectFrom(withNewIds(ids))
          .crossJoinLateral((eb) =>
            eb.selectFrom('knowledge_items as x').selectAll('x').whereRef('x.id', '=', 'v.oldId').offset(none).as('i'),
          )
          .leftJoin('knowledge_sources as s', (on) => on.on('s.kbId', '=', to.id).onRef('s.predecessorSourceId', '=', 'i.sourceId'))
          .where('i.kbId', '=', from.id)
          .select(['v.id', sql<string>`${to.id}::uuid`.as('kbId'), 's.id as sourceId', 'i.id as predecessorItemId'])
          .select([sql<'pending'>`'pending'`.as('indexState'), sql<KnowledgeJudged | null>`i.judged - 'cleared'`.as('judged')])
          .select(itemColumns.map((name) => `i.${name}` as const)),
      )
      .onConflict((conflict) => conflict.columns(['kbId', 'predecessorItemId']).where('predecessorItemId', 'is not', null).doNothing()),
  );
  await change(
    tx.em,
    query
      .insertInto('knowledge_item_versions')
      .columns(['itemId', 'version', 'kbId', 'organizationId', 'workspaceId', ...versionColumns])
      .expression(
        copiesOf(ids, to.id)
          .crossJoinLateral((eb) =>
            eb
              .selectFrom('knowledge_item_versions as x')
              .selectAll('x')
              .whereRef('x.itemId', '=', 'o.id')
              .whereRef('x.version', '=', 'n.version')
              .offset(none)
              .as('v'),
          )
          .select(['n.id as itemId', 'v.version', 'n.kbId', 'n.organizationId', 'n.workspaceId'])
          .select(versionColumns.map((name) => `v.${name}` as const)),
      )
      .onConflict((conflict) => conflict.doNothing()),
  );
}

/** Returns the chunks of items that the new base lacks, in order: `itemId` is its item there, the predecessors are what the chunk is copied from. */
export function lackingChunks(tx: Tx, { from, to }: BasePair, itemIds: readonly string[]) {
  return rows(
    tx.em,
    copiesOf(itemIds, to.id)
      .crossJoinLateral((eb) =>
        eb.selectFrom('knowledge_chunks as x').selectAll('x').whereRef('x.itemId', '=', 'o.id').offset(none).as('c'),
      )
      .where('c.kbId', '=', from.id)
      .where(({ exists, not, selectFrom }) =>
        not(
          exists(
            selectFrom('knowledge_chunks as d')
              .whereRef('d.kbId', '=', 'b.id')
              .whereRef('d.predecessorChunkId', '=', 'c.id')
              .select(sql.lit(1).as('one'))
              .offset(none),
          ),
        ),
      )
      .select(['c.id as predecessorId', 'o.id as predecessorItemId', 'n.id as itemId', 'c.ord', 'c.text', 'c.context'])
      .select(['c.charStart', 'c.charEnd', 'c.page', 'c.tokenCount', 'c.contentHash'])
      .orderBy('o.id')
      .orderBy('c.ord'),
  );
}

/** A chunk that the new base lacks. */
export type LackingChunk = Awaited<ReturnType<typeof lackingChunks>>[number];

/** A chunk as it is written to the new base. */
export type ChunkCopy = LackingChunk & Pick<NewChunk, 'lexemes' | 'lexLen'>;

const chunkColumns = ['itemId', 'ord', 'text', 'context', 'charStart', 'charEnd', 'page', 'tokenCount', 'contentHash', 'lexLen'] as const;

/** Writes chunks to the new base. Returns the ids of those that were missing, by the id of the chunk that they are copied from. */
export async function insertCopies(tx: Tx, to: BaseModel, chunks: readonly ChunkCopy[]): Promise<ReadonlyMap<string, string>> {
  const written = await rows(
    tx.em,
    query
      .insertInto('knowledge_chunks')
      .columns(['id', 'kbId', 'organizationId', 'workspaceId', 'lexemes', 'predecessorChunkId', 'createdAt', ...chunkColumns])
      .expression(({ selectFrom }) =>
        selectFrom(listed(chunks))
          .select(['c.id', sql<string>`${to.id}::uuid`.as('kbId'), sql<string | null>`${to.organizationId}::uuid`.as('organizationId')])
          .select([sql<string | null>`${to.workspaceId}::uuid`.as('workspaceId'), sql<string>`c.lexemes::tsvector`.as('lexemes')])
          .select(['c.predecessorId as predecessorChunkId', sql<string>`now()`.as('createdAt')])
          .select(chunkColumns.map((name) => `c.${name}` as const)),
      )
      .onConflict((conflict) => conflict.columns(['kbId', 'predecessorChunkId']).doNothing())
      .returning(['id', 'predecessorChunkId']),
  );
  return new Map(written.flatMap(({ id, predecessorChunkId }) => (predecessorChunkId === null ? [] : [[predecessorChunkId, id]])));
}

function listed(chunks: readonly ChunkCopy[]) {
  const of = <K extends keyof ChunkCopy>(name: K) => chunks.map((chunk) => chunk[name]);
  const ids = chunks.map(() => newId());
  return sql<ChunkCopy & { id: string }>`unnest(${ids}::uuid[], ${of('itemId')}::uuid[], ${of('ord')}::int[], ${of('text')}::text[],
    ${of('context')}::text[], ${of('charStart')}::int[], ${of('charEnd')}::int[], ${of('page')}::int[], ${of('tokenCount')}::int[],
    ${of('contentHash')}::text[], ${of('lexemes')}::text[], ${of('lexLen')}::int[], ${of('predecessorId')}::uuid[])`.as<'c'>(
    sql`c (id, item_id, ord, text, context, char_start, char_end, page, token_count, content_hash, lexemes, lex_len, predecessor_id)`,
  );
}

/** Settles copied items whose chunks are all present: as ready, or as failed when one lacks a vector. */
export async function settleCopies(tx: Tx, { to }: BasePair, itemIds: readonly string[]): Promise<void> {
  const lacks = sql<boolean>`${to.embeddingDim}::int > 0 and exists (
    select from knowledge_chunks c where c.item_id = n.id and not exists (select from knowledge_vectors v where v.chunk_id = c.id))`;
  await change(
    tx.em,
    query
      .updateTable('knowledge_items')
      .from(
        copiesOf(itemIds, to.id)
          .select(['n.id', lacks.as('lacks')])
          .as('m'),
      )
      .set(({ ref }) => ({
        indexState: sql<'failed' | 'ready'>`case when m.lacks then 'failed' else 'ready' end`,
        indexError: sql<string | null>`case when m.lacks then 'embedding_refused' end`,
        updatedAt: ref('knowledge_items.updatedAt'),
      }))
      .whereRef('m.id', '=', 'knowledge_items.id')
      .where('knowledge_items.indexState', '=', 'pending'),
  );
}
