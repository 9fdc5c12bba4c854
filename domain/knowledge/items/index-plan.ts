import { setImmediate as nextTurn } from 'node:timers/promises';
import type { ItemBase } from '../../../db/knowledge/items/item-base.ts';
import type { Embedder } from '../../../ports/embeddings/index.ts';
import type { ChunkedDocument } from '../../../ports/chunking/chunks.ts';
import { embedPrepared, indexColumnsOf, prepareIndex, type IndexSettings, type PreparedIndex } from './index-item.ts';

/** The text from which a document is indexed. */
export interface IndexedDocument {
  readonly content: string;
  readonly title: string | null;
  /** Where the pages of the file begin in the content. */
  readonly pages?: ChunkedDocument['pages'];
}

/** The index of a document, made before the transaction, with a key of the base's settings and the text for which it was made. */
export interface IndexPlan {
  readonly key: string;
  /** Null: too long for a request, so that the workflow `index:<kb>` makes it. */
  readonly prepared: PreparedIndex | null;
}

/** The longest document, in characters, that a request indexes itself; longer ones wait for the workflow. */
const maxRequestChars = 8_000;

/** What indexing needs. */
export interface Indexer {
  readonly embedder: Embedder;
  /** Aborted when a request has spent enough time on vectors: the workflow makes the rest. */
  readonly signal: AbortSignal;
}

/** The settings of a base that decide how, and by what, its items are indexed. Bases of the platform have no workflow: no organization pays for it. */
export type PlannedBase = IndexSettings & { readonly organizationId: string | null };

/** Chunks, lexes and, where the model runs in this process, embeds a document that is not too long for a request. Yields to other work of the process first. */
export async function planIndex(base: PlannedBase, document: IndexedDocument, { embedder, signal }: Indexer): Promise<IndexPlan> {
  const key = planKey(base, document);
  if (document.content.length > maxRequestChars && base.organizationId !== null) return { key, prepared: null };

  await nextTurn();
  const prepared = prepareIndex(base, document, embedder);
  return { key, prepared: await embedPrepared(prepared, { embedder, model: base.embeddingModel, signal }) };
}

/** Columns of an item that follow from its plan. */
export function planColumnsOf({ prepared }: IndexPlan): ReturnType<typeof indexColumnsOf> {
  return prepared === null ? { tokenCount: 0, chunkCount: 0, indexState: 'pending', indexError: null } : indexColumnsOf(prepared);
}

/** Returns the plan for the base as it is under the transaction's lock: the given plan if nothing has changed since, else a new one. */
export async function currentPlan(
  plan: IndexPlan | undefined,
  { base, document }: { readonly base: ItemBase; readonly document: IndexedDocument },
  indexer: Indexer,
): Promise<IndexPlan> {
  return plan?.key === planKey(base, document) ? plan : planIndex(base, document, indexer);
}

function planKey({ lexNo, chunking, retrieval, embeddingModel }: IndexSettings, { content, title, pages }: IndexedDocument): string {
  return JSON.stringify([
    lexNo,
    chunking.size_tokens,
    chunking.overlap_tokens,
    retrieval.language,
    embeddingModel,
    title,
    pages ?? null,
    content,
  ]);
}
