import { sql } from 'kysely';
import { query } from '../../query.ts';
import { change, row, rows } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import { toHalfvec, type BaseModel, type NewVector } from './write-chunks.ts';

type Tx = Pick<TenantTransaction, 'em'>;

/** What of a base decides how its items are indexed. Null where it is deleted, or where a re-embed still builds it. */
export async function readIndexedBase(tx: Tx, kbId: string) {
  return row(
    tx.em,
    query
      .selectFrom('knowledge_bases as b')
      .where('b.id', '=', kbId)
      .where('b.deletedAt', 'is', null)
      .where('b.activatedAt', 'is not', null)
      .select(['b.id', 'b.organizationId', 'b.workspaceId', 'b.embeddingModel', 'b.embeddingDim', 'b.lexNo', 'b.chunking', 'b.retrieval']),
  );
}

export type IndexedBase = NonNullable<Awaited<ReturnType<typeof readIndexedBase>>>;

/**
 * Keeps the base from being frozen, changed or deleted until the transaction ends. False: it was changed or deleted meanwhile, or a re-embed reads it, which
 * must find it as it was.
 */
export async function shareIndexedBase(tx: Tx, base: IndexedBase): Promise<boolean> {
  return (await shareBase(tx, base)) && !(await isReembedded(tx, base.id));
}

/** Whether a re-embed that has not ended reads a base. To be asked under a lock of the base, which the start of one takes too. */
export async function isReembedded(tx: Tx, kbId: string): Promise<boolean> {
  const found = await row<{ id: string }>(
    tx.em,
    `select id from knowledge_runs where kb_id = ? and kind = 'reembed' and status in ('queued', 'running', 'paused', 'cancelling') limit 1`,
    [kbId],
  );
  return found !== null;
}

/** The same lock for the re-embed itself. */
export async function shareBase(tx: Tx, base: IndexedBase): Promise<boolean> {
  const found = await row(
    tx.em,
    query
      .selectFrom('knowledge_bases as b')
      .where('b.id', '=', base.id)
      .where('b.deletedAt', 'is', null)
      .where('b.chunking', '=', sql<IndexedBase['chunking']>`${JSON.stringify(base.chunking)}::jsonb`)
      .where(sql<boolean>`b.retrieval ->> 'language' = ${base.retrieval.language}`)
      .select('b.id')
      .forShare(),
  );
  return found !== null;
}

/** A page of items is at most so many, and so many characters beyond its first. */
const pageMax = 32;
const pageChars = 400_000;

/** The next live items that wait for their index, by id. */
export async function pendingItems(tx: Tx, kbId: string, after: string | null) {
  const page = query
    .selectFrom('knowledge_items as i')
    .where('i.kbId', '=', kbId)
    .where('i.indexState', '=', 'pending')
    .where('i.deletedAt', 'is', null)
    .where('i.stagedRunId', 'is', null)
    .$if(after !== null, (of) => of.where('i.id', '>', after ?? ''))
    .select(['i.id', 'i.title', 'i.content', 'i.pages', 'i.rowVersion'])
    .select(sql<number>`sum(length(i.content)) over (order by i.id) - length(i.content)`.as('before'))
    .orderBy('i.id')
    .limit(pageMax);
  return rows(
    tx.em,
    query
      .selectFrom(page.as('p'))
      .where(sql<boolean>`p.before < ${pageChars}`)
      .select(['p.id', 'p.title', 'p.content', 'p.pages', 'p.rowVersion'])
      .orderBy('p.id'),
  );
}

export type PendingItem = Awaited<ReturnType<typeof pendingItems>>[number];

/** Locks the items that are as they were read: still there, still pending, unchanged. Gives their ids. */
export async function lockUnchanged(tx: Tx, items: readonly PendingItem[]): Promise<Set<string>> {
  const [ids, versions] = [items.map(({ id }) => id), items.map(({ rowVersion }) => rowVersion)];
  const found = await rows(
    tx.em,
    query
      .selectFrom('knowledge_items as i')
      .where(sql<boolean>`(i.id, i.row_version) in (select * from unnest(${ids}::uuid[], ${versions}::int[]))`)
      .where('i.indexState', '=', 'pending')
      .where('i.deletedAt', 'is', null)
      .select('i.id')
      .orderBy('i.id')
      .forUpdate(),
  );
  return new Set(found.map(({ id }) => id));
}

/** The chunk of an item as it should be. */
export interface ExpectedChunk {
  readonly itemId: string;
  readonly ord: number;
  readonly contentHash: string;
  readonly context: string | null;
  readonly page: number | null;
  /** The text of a tsvector. */
  readonly lexemes: string;
}

/** Of these items those whose chunks are not the expected ones: cut otherwise, or with other lexemes alone. */
export async function itemsWithOtherChunks(
  tx: Tx,
  itemIds: readonly string[],
  expected: readonly ExpectedChunk[],
): Promise<{ readonly recut: ReadonlySet<string>; readonly relexed: ReadonlySet<string> }> {
  const of = <K extends keyof ExpectedChunk>(name: K) => expected.map((chunk) => chunk[name]);
  const found = await rows<{ id: string; recut: boolean }>(
    tx.em,
    `select coalesce(n.item_id, c.item_id) as id,
            bool_or(n.item_id is null or c.item_id is null or n.content_hash <> c.content_hash or n.context is distinct from c.context or n.page is distinct from c.page) as recut
       from (select * from knowledge_chunks where item_id = any (?::uuid[])) c
       full join unnest(?::uuid[], ?::int[], ?::text[], ?::text[], ?::int[], ?::text[]) as n (item_id, ord, content_hash, context, page, lexemes)
         on n.item_id = c.item_id and n.ord = c.ord
      where n.item_id is null or c.item_id is null or n.content_hash <> c.content_hash or n.context is distinct from c.context
         or n.page is distinct from c.page or n.lexemes::tsvector <> c.lexemes
      group by 1`,
    [[...itemIds], of('itemId'), of('ord'), of('contentHash'), of('context'), of('page'), of('lexemes')],
  );
  const idsOf = (isRecut: boolean) => new Set(found.filter(({ recut }) => recut === isRecut).map(({ id }) => id));
  return { recut: idsOf(true), relexed: idsOf(false) };
}

/** The vectors that chunks of items have, with what they were made of. */
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

/** The chunks of items that have no vector yet, in their order. */
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

/** Writes the vectors of those chunks that are still there and have none. */
export async function addVectors(tx: Tx, base: BaseModel, vectors: readonly NewVector[]): Promise<void> {
  if (vectors.length === 0) return;
  await change(
    tx.em,
    `insert into knowledge_vectors (chunk_id, item_id, kb_id, organization_id, workspace_id, embedding_model, embedding_dim, embedding, created_at)
     select c.id, c.item_id, c.kb_id, c.organization_id, c.workspace_id, ?, ?, v.text::halfvec, now()
       from unnest(?::uuid[], ?::text[]) as v (id, text) join knowledge_chunks c on c.id = v.id and c.kb_id = ? order by c.id for key share of c
     on conflict do nothing`,
    [
      base.embeddingModel,
      base.embeddingDim,
      vectors.map(({ chunkId }) => chunkId),
      vectors.map(({ embedding }) => toHalfvec(embedding)),
      base.id,
    ],
  );
}

/** Sets what follows from an item's chunks. Its version stays: it is not the item that changed. */
export async function setIndexColumns(
  tx: Tx,
  itemId: string,
  { chunkCount, tokenCount }: { readonly chunkCount: number; readonly tokenCount: number },
): Promise<void> {
  await change(tx.em, 'update knowledge_items set chunk_count = ?, token_count = ? where id = ?', [chunkCount, tokenCount, itemId]);
}

/** Ends the wait of those items that are as they were read and, if they are to be searched by vectors, have one for each chunk. Gives how many. */
export async function markReady(
  tx: Tx,
  items: readonly PendingItem[],
  { needsVectors }: { readonly needsVectors: boolean },
): Promise<number> {
  return change(
    tx.em,
    `update knowledge_items i set index_state = 'ready', index_error = null
      where (i.id, i.row_version) in (select * from unnest(?::uuid[], ?::int[])) and i.index_state = 'pending' and i.deleted_at is null
        and (not ?::boolean or not exists (select from knowledge_chunks c left join knowledge_vectors v on v.chunk_id = c.id where c.item_id = i.id and v.chunk_id is null))`,
    [items.map(({ id }) => id), items.map(({ rowVersion }) => rowVersion), needsVectors],
  );
}

/** Gives up on the vectors of items: what there is of their text is searched. `ids` null: of all that wait in the base. Gives how many. */
export async function markFailed(
  tx: Tx,
  kbId: string,
  { ids, error }: { readonly ids: readonly string[] | null; readonly error: string },
): Promise<number> {
  return change(
    tx.em,
    `update knowledge_items set index_state = 'failed', index_error = ?
      where kb_id = ? and index_state = 'pending' and deleted_at is null and staged_run_id is null and (?::uuid[] is null or id = any (?::uuid[]))`,
    [error, kbId, ids, ids],
  );
}

/** Whether items of a base wait for their index, or are still to be marked so. */
export async function hasPendingItems(tx: Tx, kbId: string): Promise<boolean> {
  const found = await row<{ id: string }>(
    tx.em,
    `(select id from knowledge_items where kb_id = ?::uuid and index_state = 'pending' and deleted_at is null and staged_run_id is null limit 1)
     union all select id from knowledge_bases where id = ?::uuid and relexed_to is not null and deleted_at is null limit 1`,
    [kbId, kbId],
  );
  return found !== null;
}

/** The workspace whose budget pays for work on a base: its own; for a base of the organization the oldest one that is active. Null: there is none. */
export async function payingWorkspace(tx: Tx, base: Pick<BaseModel, 'organizationId' | 'workspaceId'>): Promise<string | null> {
  if (base.workspaceId !== null) return base.workspaceId;
  const found = await row<{ id: string }>(
    tx.em,
    'select id from workspaces where organization_id = ? and is_active order by created_at, id limit 1',
    [base.organizationId],
  );
  return found?.id ?? null;
}
