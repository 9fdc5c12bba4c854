import { newId } from '../../../db/ids.ts';
import { countTerm, type BaseChange } from '../../../db/knowledge/bases/base-counters.ts';
import type { KnowledgeChunking, KnowledgeRetrieval } from '../../../db/knowledge/bases/knowledge-base.entity.ts';
import { lexemePrefix } from '../../../db/knowledge/search/lexeme-prefix.ts';
import { insertChunks, insertVectors, type BaseModel, type NewChunk } from '../../../db/knowledge/items/write-chunks.ts';
import type { TenantTransaction } from '../../../db/tenant-transaction.ts';
import { cutChunks, type ChunkedDocument } from '../../../ports/chunking/chunks.ts';
import { contentHash } from '../../../ports/content-hash.ts';
import type { Embedder } from '../../../ports/embeddings/index.ts';
import { lex } from '../../../ports/chunking/lex.ts';
import { findInjection } from '../../../ports/parsing/text/injection.ts';
import { countTokens } from '../../../ports/models/token-count.ts';

/** What of a base decides how its items are indexed. */
export interface IndexSettings {
  readonly lexNo: number;
  readonly chunking: KnowledgeChunking;
  readonly retrieval: KnowledgeRetrieval;
  readonly embeddingModel: string;
}

type IndexedChunk = Omit<NewChunk, 'id' | 'itemId'>;

/** The index of one document, made without the database. */
export interface PreparedIndex {
  readonly chunks: readonly IndexedChunk[];
  /** One a chunk; null: they are still to be made. Empty for a base without a model. */
  readonly vectors: readonly Float32Array[] | null;
  /** In how many of the chunks each lexeme stands. */
  readonly terms: ReadonlyMap<string, number>;
  readonly tokenCount: number;
  readonly lexLen: number;
  /** The rule by which title or content order a model about; null: neither does. */
  readonly suspectRule: string | null;
}

/** Cuts a document and reads its lexemes; no vectors are made, unless the base has no model. Pure. */
export function prepareIndex(settings: IndexSettings, document: ChunkedDocument, embedder: Pick<Embedder, 'find'>): PreparedIndex {
  const { chunking, retrieval, lexNo, embeddingModel } = settings;
  const counter = embedder.find(embeddingModel)?.countTokens ?? countTokens;
  const cut = cutChunks(document, { sizeTokens: chunking.size_tokens, overlapTokens: chunking.overlap_tokens, countTokens: counter });

  const terms = new Map<string, number>();
  const chunks = cut.map((chunk) => {
    const tokens = lex(embeddedText(chunk), retrieval.language);
    for (const lexeme of new Set(tokens)) countTerm({ terms }, lexeme, 1);
    return { ...chunk, contentHash: contentHash(chunk.text), lexemes: toTsvector(tokens, lexNo), lexLen: tokens.length };
  });
  return {
    chunks,
    vectors: embeddingModel === 'none' || chunks.length === 0 ? [] : null,
    terms,
    tokenCount: chunks.reduce((sum, chunk) => sum + chunk.tokenCount, 0),
    lexLen: chunks.reduce((sum, chunk) => sum + chunk.lexLen, 0),
    suspectRule: findInjection(`${document.title ?? ''}\n${document.content}`)?.rule ?? null,
  };
}

/** What a model and the lexer get of a chunk: its context and its text. */
export function embeddedText({ context, text }: Pick<NewChunk, 'context' | 'text'>): string {
  return context === null ? text : `${context}\n${text}`;
}

/** The text of a tsvector, each lexeme behind the number of its base in base 36 (`k3:embed`), with its positions. */
export function toTsvector(tokens: readonly string[], lexNo: number): string {
  const positions = new Map<string, number[]>();
  for (const [at, token] of tokens.entries()) {
    const known = positions.get(token);
    if (known) known.push(Math.min(at + 1, maxPosition));
    else positions.set(token, [Math.min(at + 1, maxPosition)]);
  }
  const prefix = lexemePrefix(lexNo);
  return [...positions].map(([token, at]) => `'${prefix}${token.replaceAll(/['\\]/gv, '$&$&')}':${at.join(',')}`).join(' ');
}

/** PostgreSQL's own bound (https://www.postgresql.org/docs/current/textsearch-limitations.html). */
const maxPosition = 16_383;

/** Adds vectors to what was prepared, by a model that works in this process; without one it stays as it is. A model that fails, or is not done when the signal aborts, leaves it so too. */
export async function embedPrepared(
  prepared: PreparedIndex,
  { embedder, model, signal }: { readonly embedder: Embedder; readonly model: string; readonly signal: AbortSignal },
): Promise<PreparedIndex> {
  if (prepared.vectors !== null || embedder.find(model)?.inProcess !== true) return prepared;
  try {
    return { ...prepared, vectors: await embedder.embed({ model, kind: 'document', texts: prepared.chunks.map(embeddedText), signal }) };
  } catch {
    return prepared;
  }
}

/** An item and what was prepared of it. */
export interface IndexedItem {
  readonly itemId: string;
  readonly prepared: PreparedIndex;
}

/** Columns of an item that follow from its index. */
export function indexColumnsOf({ chunks, vectors, tokenCount }: PreparedIndex) {
  return { tokenCount, chunkCount: chunks.length, indexState: vectors === null ? 'pending' : 'ready', indexError: null } as const;
}

/** Writes chunks and vectors of items that have none, and notes what that changes of their base. The items' own columns are the caller's. */
export async function writeIndex(
  tx: Pick<TenantTransaction, 'em'>,
  base: BaseModel,
  { items, changes }: { readonly items: readonly IndexedItem[]; readonly changes: BaseChange },
): Promise<void> {
  const written = items.flatMap(({ itemId, prepared }) =>
    prepared.chunks.map((chunk, at) => ({ row: { ...chunk, id: newId(), itemId }, embedding: prepared.vectors?.[at] })),
  );
  await insertChunks(
    tx,
    base,
    written.map(({ row }) => row),
  );
  await insertVectors(
    tx,
    base,
    written.flatMap(({ row, embedding }) => (embedding === undefined ? [] : [{ chunkId: row.id, embedding }])),
  );
  for (const { prepared } of items) {
    changes.chunks += prepared.chunks.length;
    changes.tokens += prepared.tokenCount;
    changes.lexLen += prepared.lexLen;
    for (const [lexeme, df] of prepared.terms) countTerm(changes, lexeme, df);
  }
}

/** Those of some items whose text orders a model about. */
export function suspectsOf(items: readonly IndexedItem[]): { readonly itemId: string; readonly rule: string }[] {
  return items.flatMap(({ itemId, prepared }) => (prepared.suspectRule === null ? [] : [{ itemId, rule: prepared.suspectRule }]));
}
