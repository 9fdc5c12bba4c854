import { followedTime } from '../../../db/database-clock.ts';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { applyChange, countTerm, emptyChange } from '../../../db/knowledge/bases/base-counters.ts';
import { countChunks, readBasePair, type BasePair } from '../../../db/knowledge/runs/base-pair.ts';
import type { KnowledgeRun } from '../../../db/knowledge/runs/knowledge-run.entity.ts';
import { copyLinks } from '../../../db/knowledge/runs/copy-links.ts';
import { copySources } from '../../../db/knowledge/runs/copy-sources.ts';
import { payingWorkspace, type PendingItem } from '../../../db/knowledge/items/pending-items.ts';
import {
  copyItems,
  insertCopies,
  lackingChunks,
  nextItemIds,
  retryUncut,
  settleCopies,
  uncutItems,
  type LackingChunk,
} from '../../../db/knowledge/runs/reembed-copy.ts';
import { readPolicy } from '../../../db/knowledge/bases/maintained-base.ts';
import { insertVectors } from '../../../db/knowledge/items/write-chunks.ts';
import { addRunErrors } from '../../../db/knowledge/runs/write-runs.ts';
import type { TenantTransaction } from '../../../db/tenant-transaction.ts';
import { EmbeddingError } from '../../../ports/embeddings/errors.ts';
import { lex } from '../../../ports/chunking/lex.ts';
import { fail } from '../../../workflows/contracts/failure.ts';
import { embedTexts, type EmbeddingDeps } from '../items/embed-texts.ts';
import { cutItems } from '../items/index-pending.ts';
import { embeddedText, toTsvector } from '../items/index-item.ts';
import { isPausedTooLong, lockWorkingRun } from '../runs/run-batches.ts';

/** The most texts that a killed worker has to embed again, however many calls are in flight. */
const textsInFlight = 256;
/** Concurrent calls: to this machine's processor, and to a provider. */
const localCalls = 2;
const remoteCalls = 4;

export interface RangeOptions {
  readonly signal: AbortSignal;
  /** When an attempt ends even if items are left; on the clock of `performance.now()`. */
  readonly untilMs: number;
}

/** The run has ended or is being cancelled: its pending writes are no longer wanted. */
class ReembedStopped extends Error {}

/**
 * Copies items after the run's cursor to the new base and embeds their chunks, then copies their links. Committed work is not repeated, whichever worker
 * continues. `stopped`: the run ends. Throws an EmbeddingError or a Failure (402 `budget_exceeded`: the run pauses).
 */
export async function embedRange(deps: EmbeddingDeps, runId: string, options: RangeOptions): Promise<'more' | 'done' | 'stopped'> {
  try {
    const begun = await deps.transact((tx) => beginRange(tx, runId));
    if (begun === null) return 'stopped';
    if (begun.after === null) await prepareSource(deps, runId, { pair: begun.pair, signal: options.signal });
    return await copyPages(deps, begun, options);
  } catch (error) {
    if (error instanceof ReembedStopped) return 'stopped';
    throw error;
  }
}

interface Begun {
  readonly runId: string;
  readonly pair: BasePair;
  readonly after: string | null;
  readonly allowsMissing: boolean;
  readonly workspaceId: string | null;
}

async function beginRange(tx: TenantTransaction, runId: string): Promise<Begun | null> {
  const run = await lockWorkingRun(tx, runId);
  if (run === null || run.targetKbId === null) return null;
  const now = followedTime(tx.em);
  if (await isPausedTooLong(tx, run, now)) {
    run.status = 'cancelling';
    return null;
  }
  const pair = await readBasePair(tx, { fromId: run.kbId, toId: run.targetKbId });
  if (pair === null) return null;
  Object.assign(run, { status: 'running', pausedReason: null, pausedAt: null, startedAt: run.startedAt ?? now });
  const lastId = run.cursor?.['last_id'];
  return {
    runId,
    pair,
    after: typeof lastId === 'string' ? lastId : null,
    allowsMissing: (await readPolicy(tx, run.kbId)).allowMissingEmbeddings,
    workspaceId: await payingWorkspace(tx, pair.to),
  };
}

/** Splits items that were never split into chunks, counts the chunks to copy, and copies the sources. */
async function prepareSource(
  deps: EmbeddingDeps,
  runId: string,
  { pair, signal }: { readonly pair: BasePair; readonly signal: AbortSignal },
): Promise<void> {
  await commit(deps, runId, (tx) => retryUncut(tx, pair.from.id));
  for (let after: string | null = null; ;) {
    signal.throwIfAborted();
    const last: string | null = after;
    const page: PendingItem[] = await deps.transact((tx) => uncutItems(tx, pair.from.id, last));
    if (page.length === 0) break;
    await cutItems(deps, { base: pair.from, page, signal });
    after = page.at(-1)?.id ?? null;
  }
  await commit(deps, runId, async (tx, run) => {
    await copySources(tx, pair);
    run.progress = { stage: 'embedding', done: run.progress.done, total: await countChunks(tx, pair.from.id) };
  });
}

async function copyPages(deps: EmbeddingDeps, begun: Begun, { signal, untilMs }: RangeOptions): Promise<'more' | 'done'> {
  const { runId, pair } = begun;
  for (let { after } = begun; ;) {
    signal.throwIfAborted();
    const last: string | null = after;
    const ids = await deps.transact((tx) => nextItemIds(tx, pair.from.id, last));
    if (ids.length === 0) break;
    await commit(deps, runId, (tx) => copyItems(tx, pair, ids));
    await embedPage(deps, begun, { ids, signal });
    after = ids.at(-1) ?? null;
    await commit(deps, runId, async (tx, run) => {
      await settleCopies(tx, pair, ids);
      run.cursor = { ...run.cursor, last_id: laterOf(run.cursor?.['last_id'], after) };
      run.counts = { ...run.counts, items: (run.counts['items'] ?? 0) + ids.length };
    });
    if (performance.now() > untilMs) return 'more';
  }
  while ((await commit(deps, runId, (tx) => copyLinks(tx, pair))) > 0) signal.throwIfAborted();
  return 'done';
}

// Two workers may work on the range when the first one was frozen.
function laterOf(left: unknown, right: string | null): string | null {
  return typeof left === 'string' && (right === null || left > right) ? left : right;
}

interface EmbeddedPage {
  readonly ids: readonly string[];
  readonly signal: AbortSignal;
}

async function embedPage(deps: EmbeddingDeps, begun: Begun, { ids, signal }: EmbeddedPage): Promise<void> {
  const lacking = await deps.transact((tx) => lackingChunks(tx, begun.pair, ids));
  const model = deps.embedder.find(begun.pair.to.embeddingModel);
  const calls = model === null || model.inProcess ? localCalls : remoteCalls;
  const size = textsInFlight / calls;
  const parts = Array.from({ length: Math.ceil(lacking.length / size) }, (_, at) => lacking.slice(at * size, (at + 1) * size)).values();
  const failing = new AbortController();
  const bound = AbortSignal.any([signal, failing.signal]);
  const takeTurns = async () => {
    for (const part of parts) {
      bound.throwIfAborted();
      await embedPart(deps, begun, { part, signal: bound });
    }
  };
  const turns = Array.from({ length: calls }, () =>
    takeTurns().catch((error: unknown) => {
      failing.abort(error);
      throw error;
    }),
  );
  const settled = await Promise.allSettled(turns);
  if (failing.signal.aborted) throw failing.signal.reason;
  for (const turn of settled) if (turn.status === 'rejected') throw turn.reason;
}

interface Part {
  readonly part: readonly LackingChunk[];
  readonly signal: AbortSignal;
}

/** Embeds chunks and writes them with their vectors; when the model refuses a text, embeds each half on its own to find it. */
async function embedPart(deps: EmbeddingDeps, begun: Begun, { part, signal }: Part): Promise<void> {
  let vectors: readonly Float32Array[] | null;
  try {
    vectors = await vectorsOf(deps, begun, { part, signal });
  } catch (error) {
    if (!(error instanceof EmbeddingError) || error.isRetryable || error.fault === 'unknown_model') throw error;
    const [only, ...others] = part;
    if (only === undefined || others.length > 0) {
      const middle = Math.ceil(part.length / 2);
      await embedPart(deps, begun, { part: part.slice(0, middle), signal });
      return embedPart(deps, begun, { part: part.slice(middle), signal });
    }
    if (!begun.allowsMissing) throw refusedText(only);
    return writeWithout(deps, begun, only);
  }
  await writePart(deps, begun, { part, vectors });
}

function refusedText({ predecessorItemId, ord }: LackingChunk): Error {
  return fail('upstream_failed', {
    reason: 'embedding_refused',
    detail: 'The embedding model rejected a text.',
    context: { item_id: predecessorItemId, chunk_ord: ord },
  });
}

async function vectorsOf(
  deps: EmbeddingDeps,
  { runId, pair: { to }, workspaceId }: Begun,
  { part, signal }: Part,
): Promise<readonly Float32Array[] | null> {
  if (to.embeddingDim === 0) return null;
  if (workspaceId === null || to.organizationId === null) throw new Error(`nobody pays for base ${to.id}`);
  return embedTexts(deps, {
    model: to.embeddingModel,
    kind: 'document',
    texts: part.map(embeddedText),
    source: { kind: 'maintenance', id: runId },
    step: part[0]?.predecessorId ?? '',
    organizationId: to.organizationId,
    workspaceId,
    signal,
  });
}

async function writePart(
  deps: EmbeddingDeps,
  { runId, pair: { to } }: Begun,
  { part, vectors }: { readonly part: readonly LackingChunk[]; readonly vectors: readonly Float32Array[] | null },
): Promise<void> {
  await nextTurn();
  const lexed = part.map((chunk) => ({ chunk, tokens: lex(embeddedText(chunk), to.retrieval.language) }));
  const copies = lexed.map(({ chunk, tokens }) => ({ ...chunk, lexemes: toTsvector(tokens, to.lexNo), lexLen: tokens.length }));
  await commit(deps, runId, async (tx, run) => {
    const written = await insertCopies(tx, to, copies);
    const changes = emptyChange();
    const made: { chunkId: string; embedding: Float32Array }[] = [];
    for (const [at, { chunk, tokens }] of lexed.entries()) {
      const chunkId = written.get(chunk.predecessorId);
      if (chunkId === undefined) continue;
      for (const lexeme of new Set(tokens)) countTerm(changes, lexeme, 1);
      const embedding = vectors?.[at];
      if (embedding !== undefined) made.push({ chunkId, embedding });
    }
    await insertVectors(tx, to, made);
    run.progress = { ...run.progress, stage: 'embedding', done: run.progress.done + written.size };
    run.counts = { ...run.counts, chunks: (run.counts['chunks'] ?? 0) + written.size };
    await tx.em.flush();
    // The counters are written at the cut-over: until then nothing shows the contents of the new base.
    await applyChange(tx, to, changes);
  });
}

async function writeWithout(deps: EmbeddingDeps, begun: Begun, chunk: LackingChunk): Promise<void> {
  await writePart(deps, begun, { part: [chunk], vectors: null });
  const ids = { item_id: chunk.predecessorItemId, chunk_ord: chunk.ord };
  const error = { stage: 'embedding', code: 'embedding_refused', detail: 'The embedding model rejected the text.', ids };
  await commit(deps, begun.runId, (tx, run) => addRunErrors(tx, run, [error]));
}

/** Runs one transaction with the run locked. Throws when the run has ended or is being cancelled. */
function commit<R>(
  deps: Pick<EmbeddingDeps, 'transact'>,
  runId: string,
  write: (tx: TenantTransaction, run: KnowledgeRun) => Promise<R>,
): Promise<R> {
  return deps.transact(async (tx) => {
    const run = await lockWorkingRun(tx, runId);
    if (run === null) throw new ReembedStopped('the run is over');
    const value = await write(tx, run);
    await tx.em.flush();
    return value;
  });
}
