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

/** The settings of a base that decide how its items are indexed. */
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
  /** One per chunk; null: not made yet. Empty for a base without a model. */
  readonly vectors: readonly Float32Array[] | null;
  /** The number of chunks that contain each lexeme. */
  readonly terms: ReadonlyMap<string, number>;
  readonly tokenCount: number;
  readonly lexLen: number;
  /** The rule by which the title or content tries to instruct a model; null: neither does. */
  readonly suspectRule: string | null;
}

/** Splits a document into chunks and lexes them; makes no vectors, which a base without a model does not need. Pure. */
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

/** The text of a chunk for the embedding model and the lexer: its context and its text. */
export function embeddedText({ context, text }: Pick<NewChunk, 'context' | 'text'>): string {
  return context === null ? text : `${context}\n${text}`;
}

/** The text of a tsvector: each lexeme after the number of its base in base 36 (`k3:embed`), with its positions. */
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

/**
 * Adds vectors to a prepared index if the model runs in this process. The index stays as it is without such a model, when the model fails, or when it is not
 * done by the time the signal aborts.
 */
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

/** An item and its prepared index. */
export interface IndexedItem {
  readonly itemId: string;
  readonly prepared: PreparedIndex;
}

/** Columns of an item that follow from its index. */
export function indexColumnsOf({ chunks, vectors, tokenCount }: PreparedIndex) {
  return { tokenCount, chunkCount: chunks.length, indexState: vectors === null ? 'pending' : 'ready', indexError: null } as const;
}

/** Writes chunks and vectors of items that have none, and records the effect on their base in `changes`. The caller writes the items' own columns. */
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

/** Returns the items whose text tries to instruct a model. */
export function suspectsOf(items: readonly IndexedItem[]): { readonly itemId: string; readonly rule: string }[] {
  return items.flatMap(({ itemId, prepared }) => (prepared.suspectRule === null ? [] : [{ itemId, rule: prepared.suspectRule }]));
}
