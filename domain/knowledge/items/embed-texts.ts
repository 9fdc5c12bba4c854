import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { createHash } from 'node:crypto';
import { Decimal } from 'decimal.js';
import type { PinnedPrice } from '../../../db/billing/prices/prices.ts';
import { callKey } from '../../../db/billing/ledger/call-key.ts';
import { settleEmbedding } from '../../../db/billing/ledger/settle-embedding.ts';
import {
  readCachedVectors,
  storeCachedVectors,
  sweepUnusedEmbeddings,
  type CachedVector,
} from '../../../db/knowledge/items/embedding-cache.ts';
import { EmbeddingError } from '../../../ports/embeddings/errors.ts';
import type { Embedder, EmbeddingAnswer, EmbeddingModel } from '../../../ports/embeddings/index.ts';
import { openMeteredCall, type MeteredCall, type MeteringRules, type PlannedCall } from '../../billing/metered-call.ts';

/** What embedding needs from its process. */
export interface EmbeddingDeps extends Omit<MeteringRules, 'signal'> {
  readonly embedder: Embedder;
}

/** Texts to be embedded, and who pays for them. */
export interface TextsToEmbed {
  readonly model: string;
  readonly kind: 'query' | 'document';
  readonly texts: readonly string[];
  /** A base or run of maintenance, a search, or an evaluation. */
  readonly source: { readonly kind: 'maintenance' | 'search' | 'evaluation'; readonly id: string };
  /** Keys of the caps that apply; absent: none. */
  readonly caps?: readonly string[];
  /** Names the job within its source: the same step makes the same calls, which are billed once. */
  readonly step: string;
  readonly organizationId: string;
  /** The workspace whose budget pays. */
  readonly workspaceId: string;
  readonly signal: AbortSignal;
}

interface Pending {
  readonly sha256: string;
  readonly text: string;
}

/**
 * Returns the vectors of texts, in their order. Texts of documents that are in the organization's cache cost nothing. Each provider call is reserved beforehand
 * and settled in the transaction that stores its vectors, so that a repeat after a kill finds them or is billed under the same key. Throws an EmbeddingError,
 * 402 `budget_exceeded`, 422 `unpriced_model`, 429, or the signal's reason.
 */
export async function embedTexts(deps: EmbeddingDeps, wanted: TextsToEmbed): Promise<Float32Array[]> {
  const model = deps.embedder.find(wanted.model);
  if (model === null) throw new EmbeddingError('unknown_model', `no embedding model ${wanted.model}`);
  if (!model.isCached) return deps.embedder.embed(wanted);

  const hashes = wanted.texts.map((text) => createHash('sha256').update(text).digest('hex'));
  const known = new Map<string, Float32Array>();
  const keep = (vectors: readonly CachedVector[]) => vectors.forEach(({ sha256, embedding }) => known.set(sha256, embedding));
  const isCaching = wanted.kind === 'document';
  const key = { organizationId: wanted.organizationId, model: model.id, revision: model.revision };
  if (isCaching) keep(await deps.transact((tx) => readCachedVectors(tx, key, [...new Set(hashes)])));

  for (const batch of batchesOf(missing(wanted.texts, hashes, known), model.maxBatch)) {
    const { vectors } = await callOnce(deps, { model, wanted, batch, isCaching });
    keep(batch.map(({ sha256 }, at) => ({ sha256, embedding: vectors[at] ?? new Float32Array() })));
  }
  return hashes.map((sha256) => known.get(sha256) ?? new Float32Array());
}

/** Each text once, in the order of first occurrence. */
function missing(texts: readonly string[], hashes: readonly string[], known: ReadonlyMap<string, unknown>): Pending[] {
  const found = new Map<string, Pending>();
  for (const [at, sha256] of hashes.entries()) if (!known.has(sha256)) found.set(sha256, { sha256, text: texts[at] ?? '' });
  return [...found.values()];
}

function batchesOf(pending: readonly Pending[], size: number): Pending[][] {
  return Array.from({ length: Math.ceil(pending.length / size) }, (_, at) => pending.slice(at * size, (at + 1) * size));
}

interface Batch {
  readonly model: EmbeddingModel;
  readonly wanted: TextsToEmbed;
  readonly batch: readonly Pending[];
  readonly isCaching: boolean;
}

async function callOnce(deps: EmbeddingDeps, call: Batch): Promise<EmbeddingAnswer> {
  const { model, wanted, batch, isCaching } = call;
  const request = {
    model: model.id,
    kind: wanted.kind,
    texts: batch.map(({ text }) => text),
    workspaceId: wanted.workspaceId,
    signal: wanted.signal,
  };
  const key = { organizationId: wanted.organizationId, model: model.id, revision: model.revision };
  const cached = ({ vectors }: EmbeddingAnswer) =>
    isCaching ? batch.map(({ sha256 }, at) => ({ sha256, embedding: vectors[at] ?? new Float32Array() })) : [];
  if (model.inProcess) {
    const answer = await deps.embedder.call(request);
    await deps.transact((tx) => storeCachedVectors(tx, key, cached(answer)));
    return answer;
  }

  const planned = planOf(call);
  const metered = await openMeteredCall({ ...deps, signal: wanted.signal }, planned);
  try {
    const answer = await deps.embedder.call(request);
    await deps.transact(async (tx) => {
      await settleEmbedding(tx, usageOf(deps, call, { planned, metered, answer }));
      await storeCachedVectors(tx, key, cached(answer));
    });
    return answer;
  } catch (error) {
    if (error instanceof EmbeddingError && error.fault === 'bad_answer')
      await deps.transact((tx) => settleEmbedding(tx, usageOf(deps, call, { planned, metered, answer: null })));
    else await metered.release();
    throw error;
  } finally {
    metered.close();
  }
}

function planOf({ model, wanted, batch }: Batch): PlannedCall {
  const digest = createHash('sha256').update([wanted.step, model.id, model.revision, ...batch.map(({ sha256 }) => sha256)].join(' '));
  const tokens = tokensOf(model, batch);
  return {
    callKey: callKey(wanted.source.kind, wanted.source.id, 0, 1, digest.digest('hex').slice(0, 32)),
    organizationId: wanted.organizationId,
    workspaceId: wanted.workspaceId,
    ...(wanted.caps ? { caps: wanted.caps } : {}),
    model,
    estimate: (prices) => estimateOf(prices, tokens),
  };
}

/** Estimates all texts at the input price plus a tenth, since the provider's tokenizer may count differently. Decimal, rounded up to 9 places. */
function estimateOf(prices: readonly PinnedPrice[], tokens: number): string {
  const priceOf = (bucket: PinnedPrice['bucket']) => prices.find((price) => price.bucket === bucket)?.price ?? 0;
  return new Decimal(priceOf('input'))
    .times(tokens)
    .times('1.1')
    .dividedBy(1_000_000)
    .plus(priceOf('call'))
    .toDecimalPlaces(9, Decimal.ROUND_UP)
    .toFixed(9);
}

function tokensOf(model: EmbeddingModel, batch: readonly Pending[]): number {
  return batch.reduce((sum, { text }) => sum + Math.min(model.maxTokens, model.countTokens(text)), 0);
}

function usageOf(
  deps: EmbeddingDeps,
  { model, wanted, batch }: Batch,
  { planned, metered, answer }: { readonly planned: PlannedCall; readonly metered: MeteredCall; readonly answer: EmbeddingAnswer | null },
) {
  const counted = answer?.inputTokens ?? null;
  return {
    callKey: planned.callKey,
    source: wanted.source,
    organizationId: wanted.organizationId,
    workspaceId: wanted.workspaceId,
    model: model.id,
    provider: model.provider,
    providerRequestId: answer?.providerRequestId ?? null,
    isFree: model.free,
    inputTokens: counted ?? tokensOf(model, batch),
    estimated: counted === null,
    currency: deps.currency,
    reservedAt: metered.reservedAt,
    prices: metered.prices,
  };
}

/** Drops unused vectors of the embedding cache: at most `limit`, of all organizations; returns how many. Their texts are embedded again when they recur. */
export function dropUnusedEmbeddings(em: SqlEntityManager, limit: number): Promise<number> {
  return sweepUnusedEmbeddings(em, limit);
}
