import { sql } from 'kysely';
import { prepared, type ParametersOf } from '../../prepared.ts';
import { query } from '../../query.ts';
import { change, row, rows } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import { liveKnowledgeRunStatuses } from '../runs/knowledge-run.entity.ts';
import type { BaseModel } from './write-chunks.ts';

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
  const found = await row(
    tx.em,
    query
      .selectFrom('knowledge_runs')
      .select('id')
      .where('kbId', '=', kbId)
      .where('kind', '=', sql.lit('reembed' as const))
      .where(
        'status',
        'in',
        liveKnowledgeRunStatuses.map((status) => sql.lit(status)),
      )
      .limit(1),
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

interface IndexColumns {
  readonly itemId: string;
  readonly chunkCount: number;
  readonly tokenCount: number;
}

const indexed = prepared(({ itemId, chunkCount, tokenCount }: ParametersOf<IndexColumns>) =>
  query
    .updateTable('knowledge_items')
    .set(({ ref }) => ({ chunkCount, tokenCount, updatedAt: ref('updatedAt') }))
    .where('id', '=', itemId),
);

/** Sets the columns derived from an item's chunks. The row version stays, since the item itself has not changed. */
export async function setIndexColumns(
  tx: Tx,
  itemId: string,
  { chunkCount, tokenCount }: { readonly chunkCount: number; readonly tokenCount: number },
): Promise<void> {
  await change(tx.em, indexed({ chunkCount, tokenCount, itemId }));
}

/** Marks items as ready that are unchanged since they were read and, if they need vectors, have one for each chunk. Returns their number. */
export async function markReady(
  tx: Tx,
  items: readonly PendingItem[],
  { needsVectors }: { readonly needsVectors: boolean },
): Promise<number> {
  const [ids, versions] = [items.map(({ id }) => id), items.map(({ rowVersion }) => rowVersion)];
  const read = query
    .updateTable('knowledge_items')
    .set(({ ref }) => ({ indexState: 'ready', indexError: null, updatedAt: ref('updatedAt') }))
    .where(sql<boolean>`(id, row_version) in (select * from unnest(${ids}::uuid[], ${versions}::int[]))`)
    .where('indexState', '=', 'pending')
    .where('deletedAt', 'is', null);
  const complete = read.where(({ not, exists, selectFrom }) =>
    not(
      exists(
        selectFrom('knowledge_chunks as c')
          .leftJoin('knowledge_vectors as v', 'v.chunkId', 'c.id')
          .whereRef('c.itemId', '=', 'knowledge_items.id')
          .where('v.chunkId', 'is', null),
      ),
    ),
  );
  return change(tx.em, needsVectors ? complete : read);
}

/** Marks items as failed whose vectors are given up; search still finds their indexed text. `ids` null: all pending items of the base. Returns their number. */
export async function markFailed(
  tx: Tx,
  kbId: string,
  { ids, error }: { readonly ids: readonly string[] | null; readonly error: string },
): Promise<number> {
  const pending = query
    .updateTable('knowledge_items')
    .set(({ ref }) => ({ indexState: 'failed', indexError: error, updatedAt: ref('updatedAt') }))
    .where('kbId', '=', kbId)
    .where('indexState', '=', sql.lit('pending' as const))
    .where('deletedAt', 'is', null)
    .where('stagedRunId', 'is', null);
  return change(tx.em, ids === null ? pending : pending.where(sql<boolean>`id = any (${ids}::uuid[])`));
}

/** Whether items of a base wait for their index, or have yet to be marked as waiting. */
export async function hasPendingItems(tx: Tx, kbId: string): Promise<boolean> {
  const item = query
    .selectFrom('knowledge_items')
    .select('id')
    .where('kbId', '=', kbId)
    .where('indexState', '=', sql.lit('pending' as const))
    .where('deletedAt', 'is', null)
    .where('stagedRunId', 'is', null)
    .limit(1);
  const base = query
    .selectFrom('knowledge_bases')
    .select('id')
    .where('id', '=', kbId)
    .where('relexedTo', 'is not', null)
    .where('deletedAt', 'is', null);
  return (await row(tx.em, query.selectFrom(item.as('i')).select('i.id').unionAll(base).limit(1))) !== null;
}

/** Returns the workspace whose budget pays for work on a base: its own; for a base of the organization, the oldest active one. Null when there is none. */
export async function payingWorkspace(tx: Tx, base: Pick<BaseModel, 'organizationId' | 'workspaceId'>): Promise<string | null> {
  if (base.workspaceId !== null) return base.workspaceId;
  const found = await row(
    tx.em,
    query
      .selectFrom('workspaces')
      .select('id')
      .where('organizationId', '=', base.organizationId)
      .where('isActive', '=', sql.lit(true))
      .orderBy('createdAt')
      .orderBy('id')
      .limit(1),
  );
  return found?.id ?? null;
}
