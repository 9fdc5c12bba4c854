import { applyChange, countTerm, emptyChange, removeChunks, type BaseChange } from '../../../db/knowledge/bases/base-counters.ts';
import { fromHalfvec } from '../../../db/knowledge/items/embedding-cache.ts';
import { addVectors, chunksWithoutVector, itemsWithOtherChunks, vectorsOfItems } from '../../../db/knowledge/items/item-chunks.ts';
import {
  hasPendingItems,
  isReembedded,
  lockUnchanged,
  markFailed,
  markReady,
  payingWorkspace,
  pendingItems,
  readIndexedBase,
  setIndexColumns,
  shareBase,
  shareIndexedBase,
  type IndexedBase,
  type PendingItem,
} from '../../../db/knowledge/items/pending-items.ts';
import { markRelexed, relexChunks } from '../../../db/knowledge/items/relex-items.ts';
import { distrustItems, writeSuspects } from '../../../db/knowledge/items/suspect-items.ts';
import type { TenantTransaction } from '../../../db/tenant-transaction.ts';
import { EmbeddingError } from '../../../ports/embeddings/errors.ts';
import { Failure } from '../../../workflows/contracts/failure.ts';
import type { IndexOutcome } from '../../../workflows/contracts/knowledge/items.ts';
import { embedTexts, type EmbeddingDeps, type TextsToEmbed } from './embed-texts.ts';
import { embeddedText, prepareIndex, suspectsOf, writeIndex, type IndexedItem } from './index-item.ts';

/** The value of `embedding_model` of a base without vectors. */
const noEmbeddings = 'none';
/** The number of texts embedded and committed at a time, which is what a kill may repeat. */
const subBatch = 256;
/** The number of items marked per transaction, for which a writer of the base has to wait. */
const relexedAtOnce = 2_000;

export interface IndexingOptions {
  readonly signal: AbortSignal;
  /** When the pass ends, even if items still wait; on the clock of `performance.now()`. */
  readonly untilMs: number;
}

/**
 * Indexes the pending items of a base, a page at a time: first chunks and terms, so that their text is found, then the missing vectors. Each page is committed
 * on its own, and existing chunks and vectors are left alone, so that the pass may be stopped anywhere and run again. Throws an EmbeddingError or a Failure
 * that a retry may resolve; marks an item failed when no retry will.
 */
export async function indexPendingItems(deps: EmbeddingDeps, kbId: string, { signal, untilMs }: IndexingOptions): Promise<IndexOutcome> {
  const base = await deps.transact(async (tx) => ((await isReembedded(tx, kbId)) ? null : readIndexedBase(tx, kbId)));
  if (base === null) return 'done';
  // After a change of language all items of the base have to be indexed again, a batch at a time.
  while ((await deps.transact((tx) => markRelexed(tx, kbId, relexedAtOnce))) > 0) {
    signal.throwIfAborted();
    if (performance.now() > untilMs) return 'more';
  }

  for (let after: string | null = null; ;) {
    signal.throwIfAborted();
    const page: PendingItem[] = await deps.transact((tx) => pendingItems(tx, kbId, after));
    if (page.length === 0) break;
    const outcome = await indexPage(deps, { base, page, signal });
    if (outcome === 'budget') return 'budget';
    if (outcome === 'changed') break;
    after = page.at(-1)?.id ?? null;
    if (performance.now() > untilMs) break;
  }
  return (await deps.transact((tx) => hasPendingItems(tx, kbId))) ? 'more' : 'done';
}

/** Gives up on the vectors of the items that are still pending in a base: their text is found by its words. Returns the number of items. */
export function failPendingItems(tx: TenantTransaction, kbId: string): Promise<number> {
  return markFailed(tx, kbId, { ids: null, error: 'embedding_unavailable' });
}

/** Items of a base that are indexed together. */
export interface Page {
  readonly base: IndexedBase;
  readonly page: readonly PendingItem[];
  readonly signal: AbortSignal;
}

/** `changed`: the settings of the base have changed, so that the pass starts again. */
type PageOutcome = 'indexed' | 'budget' | 'changed';

async function indexPage(deps: EmbeddingDeps, { base, page, signal }: Page): Promise<PageOutcome> {
  const prepared = await prepareAll(deps, { base, page, signal });
  if (!(await deps.transact((tx) => writeChunks(tx, base, { page, prepared })))) return 'changed';
  await flagSuspects(deps, { page, prepared });

  try {
    if (base.embeddingModel !== noEmbeddings) await embedItems(deps, { base, page, signal });
  } catch (error) {
    if (error instanceof Failure && error.code === 'budget_exceeded') return 'budget';
    if (!isFinal(error)) throw error;
    if (page.length > 1) return indexApart(deps, { base, page, signal });
    const ids = page.map(({ id }) => id);
    await deps.transact((tx) => markFailed(tx, base.id, { ids, error: reasonOf(error) }));
    return 'indexed';
  }
  return deps.transact(async (tx) => {
    if (!(await shareIndexedBase(tx, base))) return 'changed';
    await markReady(tx, page, { needsVectors: base.embeddingModel !== noEmbeddings });
    return 'indexed';
  });
}

/** Checks long texts for suspect content here, where no request waits for it. */
async function flagSuspects({ transact }: Pick<EmbeddingDeps, 'transact'>, { page, prepared }: PreparedPage): Promise<void> {
  const suspects = suspectsOf(prepared);
  if (suspects.length === 0) return;
  await transact(async (tx) => {
    const unchanged = await lockUnchanged(tx, page);
    const own = suspects.filter(({ itemId }) => unchanged.has(itemId));
    await distrustItems(tx, await writeSuspects(tx, own));
  });
}

/** One of the items causes the error: indexes each on its own, so that it alone fails. */
async function indexApart(deps: EmbeddingDeps, { base, page, signal }: Page): Promise<PageOutcome> {
  for (const item of page) {
    const outcome = await indexPage(deps, { base, page: [item], signal });
    if (outcome !== 'indexed') return outcome;
  }
  return 'indexed';
}

/** Splits items of a base that a re-embed is about to read into chunks, without vectors. */
export async function cutItems(deps: EmbeddingDeps, { base, page, signal }: Page): Promise<void> {
  const prepared = await prepareAll(deps, { base, page, signal });
  await deps.transact((tx) => writeChunks(tx, base, { page, prepared, share: shareBase }));
}

/** Chunks and lexes the items outside of any transaction, yielding to other work of the process in between. */
async function prepareAll({ embedder }: Pick<EmbeddingDeps, 'embedder'>, { base, page, signal }: Page): Promise<IndexedItem[]> {
  const prepared: IndexedItem[] = [];
  for (const item of page) {
    await new Promise(setImmediate);
    signal.throwIfAborted();
    prepared.push({ itemId: item.id, prepared: prepareIndex(base, item, embedder) });
  }
  return prepared;
}

interface PreparedPage {
  readonly page: readonly PendingItem[];
  readonly prepared: readonly IndexedItem[];
  readonly share?: typeof shareIndexedBase;
}

/**
 * Writes chunks and terms of the items whose chunks do not match their text and the base's settings yet; equal text retains its vector. Returns false when the
 * base was changed or deleted meanwhile.
 */
async function writeChunks(
  tx: TenantTransaction,
  base: IndexedBase,
  { page, prepared, share = shareIndexedBase }: PreparedPage,
): Promise<boolean> {
  if (!(await share(tx, base))) return false;
  const unchanged = await lockUnchanged(tx, page);
  const items = prepared.filter(({ itemId }) => unchanged.has(itemId));
  const ids = items.map(({ itemId }) => itemId);
  const { recut, relexed } = await itemsWithOtherChunks(tx, ids, expectedOf(items));
  if (recut.size + relexed.size === 0) return true;
  const changes = emptyChange();
  if (recut.size > 0)
    await rewriteChunks(
      tx,
      base,
      items.filter(({ itemId }) => recut.has(itemId)),
      changes,
    );
  await relexItems(
    tx,
    items.filter(({ itemId }) => relexed.has(itemId)),
    changes,
  );
  await applyChange(tx, base, changes);
  return true;
}

async function rewriteChunks(tx: TenantTransaction, base: IndexedBase, items: readonly IndexedItem[], changes: BaseChange): Promise<void> {
  const ids = items.map(({ itemId }) => itemId);
  const known = new Map((await vectorsOfItems(tx, ids)).map((chunk) => [embeddedText(chunk), chunk.embedding]));
  await removeChunks(tx, ids, changes);
  await writeIndex(tx, base, { items, changes });
  for (const { itemId, prepared } of items)
    await setIndexColumns(tx, itemId, { chunkCount: prepared.chunks.length, tokenCount: prepared.tokenCount });
  if (known.size > 0) await giveVectorsBack(tx, base, { itemIds: ids, known });
}

/** Items whose chunks are unchanged retain chunks and vectors. */
async function relexItems(tx: TenantTransaction, items: readonly IndexedItem[], changes: BaseChange): Promise<void> {
  await relexChunks(
    tx,
    items.flatMap(({ itemId, prepared }) => prepared.chunks.map(({ ord, lexemes, lexLen }) => ({ itemId, ord, lexemes, lexLen }))),
    changes,
  );
  for (const { prepared } of items) {
    changes.lexLen += prepared.lexLen;
    for (const [lexeme, df] of prepared.terms) countTerm(changes, lexeme, df);
  }
}

/** Gives chunks whose text had a vector that vector again. */
async function giveVectorsBack(
  tx: TenantTransaction,
  base: IndexedBase,
  { itemIds, known }: { readonly itemIds: readonly string[]; readonly known: ReadonlyMap<string, string> },
): Promise<void> {
  const lacking = await chunksWithoutVector(tx, itemIds);
  const again = lacking.flatMap((chunk) => {
    const embedding = known.get(embeddedText(chunk));
    return embedding === undefined ? [] : [{ chunkId: chunk.id, embedding: fromHalfvec(embedding) }];
  });
  await addVectors(tx, base, again);
}

function expectedOf(items: readonly IndexedItem[]) {
  return items.flatMap(({ itemId, prepared }) =>
    prepared.chunks.map(({ ord, contentHash, context, page, lexemes }) => ({ itemId, ord, contentHash, context, page, lexemes })),
  );
}

/** Embeds chunks of the items, staged ones too, that lack vectors, and commits them a few hundred at a time. The base is billed unless `source` names a run. */
export async function embedItems(
  deps: EmbeddingDeps,
  { base, page, signal, source = { kind: 'maintenance', id: base.id } }: Page & { readonly source?: TextsToEmbed['source'] },
): Promise<void> {
  const ids = page.map(({ id }) => id);
  const lacking = await deps.transact((tx) => chunksWithoutVector(tx, ids));
  const workspaceId = await deps.transact((tx) => payingWorkspace(tx, base));
  if (lacking.length > 0 && (workspaceId === null || base.organizationId === null)) throw new Error(`nobody pays for base ${base.id}`);

  for (let at = 0; at < lacking.length; at += subBatch) {
    const part = lacking.slice(at, at + subBatch);
    const vectors = await embedTexts(deps, {
      model: base.embeddingModel,
      kind: 'document',
      texts: part.map(embeddedText),
      source,
      step: part.map(({ id }) => id).join(' '),
      organizationId: base.organizationId ?? '',
      workspaceId: workspaceId ?? '',
      signal,
    });
    await deps.transact(async (tx) => {
      if (!(await shareIndexedBase(tx, base))) return;
      await addVectors(
        tx,
        base,
        part.map(({ id }, n) => ({ chunkId: id, embedding: vectors[n] ?? new Float32Array() })),
      );
    });
  }
}

/** Whether no retry can resolve the error. */
function isFinal(error: unknown): boolean {
  if (error instanceof EmbeddingError) return !error.isRetryable;
  return error instanceof Failure && error.code === 'validation_failed';
}

/** A short reason for `index_error`. */
function reasonOf(error: unknown): string {
  if (error instanceof EmbeddingError) return error.fault === 'unknown_model' ? 'unknown_embedding_model' : `embedding_${error.fault}`;
  return error instanceof Failure && typeof error.context.reason === 'string' ? error.context.reason : 'not embedded';
}
