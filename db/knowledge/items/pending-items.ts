import { sql } from 'kysely';
import { query } from '../../query.ts';
import { change, row, rows } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import { toHalfvec, type BaseModel, type NewVector } from './write-chunks.ts';

type Tx = Pick<TenantTransaction, 'em'>;

/** Returns the settings of a base that determine how its items are indexed. Null when it is deleted, or when a re-embed is still building it. */
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
 * Prevents the base from being frozen, changed or deleted until the transaction ends. Returns false when it was changed or deleted meanwhile, or while a
 * re-embed reads it, since the re-embed must find it unchanged.
 */
export async function shareIndexedBase(tx: Tx, base: IndexedBase): Promise<boolean> {
  return (await shareBase(tx, base)) && !(await isReembedded(tx, base.id));
}

/** Whether a re-embed that has not ended reads a base. Call it while holding a lock of the base, which the start of a re-embed takes too. */
export async function isReembedded(tx: Tx, kbId: string): Promise<boolean> {
  const found = await row<{ id: string }>(
    tx.em,
    `select id from knowledge_runs where kb_id = ? and kind = 'reembed' and status in ('queued', 'running', 'paused', 'cancelling') limit 1`,
    [kbId],
  );
  return found !== null;
}

/** Takes the same lock, for the re-embed itself. Returns false when the base was changed or deleted meanwhile. */
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

/** Limits of a page of items: their number, and the characters after which no further item is added. */
const pageMax = 32;
const pageChars = 400_000;

/** Returns the next live items that wait for their index, by id. */
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

/** Locks the items that are unchanged since they were read: still present, still pending, with the same version. Returns their ids. */
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

/** Sets the columns derived from an item's chunks. The row version stays, since the item itself has not changed. */
export async function setIndexColumns(
  tx: Tx,
  itemId: string,
  { chunkCount, tokenCount }: { readonly chunkCount: number; readonly tokenCount: number },
): Promise<void> {
  await change(tx.em, 'update knowledge_items set chunk_count = ?, token_count = ? where id = ?', [chunkCount, tokenCount, itemId]);
}

/** Marks items as ready that are unchanged since they were read and, if they need vectors, have one for each chunk. Returns their number. */
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

/** Marks items as failed whose vectors are given up; search still finds their indexed text. `ids` null: all pending items of the base. Returns their number. */
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

/** Whether items of a base wait for their index, or have yet to be marked as waiting. */
export async function hasPendingItems(tx: Tx, kbId: string): Promise<boolean> {
  const found = await row<{ id: string }>(
    tx.em,
    `(select id from knowledge_items where kb_id = ?::uuid and index_state = 'pending' and deleted_at is null and staged_run_id is null limit 1)
     union all select id from knowledge_bases where id = ?::uuid and relexed_to is not null and deleted_at is null limit 1`,
    [kbId, kbId],
  );
  return found !== null;
}

/** Returns the workspace whose budget pays for work on a base: its own; for a base of the organization, the oldest active one. Null when there is none. */
export async function payingWorkspace(tx: Tx, base: Pick<BaseModel, 'organizationId' | 'workspaceId'>): Promise<string | null> {
  if (base.workspaceId !== null) return base.workspaceId;
  const found = await row<{ id: string }>(
    tx.em,
    'select id from workspaces where organization_id = ? and is_active order by created_at, id limit 1',
    [base.organizationId],
  );
  return found?.id ?? null;
}
