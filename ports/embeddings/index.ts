import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { countTokens } from '../models/token-count.ts';
import { EmbeddingError } from './errors.ts';
import { hashVector } from './hash.ts';
import { createOnboardModel, type OnboardModel } from './onboard.ts';
import type { EmbeddingRegistry, ResolvedEmbedding } from './registry.ts';
import { createRemoteModels } from './remote.ts';
import { openTokenizer } from './tokenizer.ts';

export { EmbeddingError } from './errors.ts';
export { noEmbeddings } from './registry.ts';

/** One embedding model of this deployment. Holds no credential. */
export interface EmbeddingModel {
  readonly id: string;
  /** Of its provider; `builtin` for those in process. */
  readonly provider: string;
  readonly dim: number;
  /** What is longer is truncated by the model. */
  readonly maxTokens: number;
  /** Of the vector leg beside the lexical one's 1, where a base says nothing; 0: only if that finds nothing. */
  readonly fusionWeight: number;
  /** Changes when the same text gets another vector; part of the cache's key. */
  readonly revision: string;
  /** Costs nothing where no price is in force. */
  readonly free: boolean;
  /** Making a vector takes so long, or costs so much, that it is kept for the next time. */
  readonly isCached: boolean;
  /** Answers without leaving the machine, and is never billed. */
  readonly inProcess: boolean;
  /** Texts that one call takes at most. */
  readonly maxBatch: number;
  /** Tokens of a text as this model counts them, without marks of beginning and end. */
  readonly countTokens: (text: string) => number;
}

/** Texts and what they are for: some models put different words before a query and a document. */
export interface EmbeddingRequest {
  readonly model: string;
  readonly kind: 'query' | 'document';
  readonly texts: readonly string[];
  readonly signal: AbortSignal;
}

/** What one call gave. */
export interface EmbeddingAnswer {
  /** One a text, in their order, of length 1. */
  readonly vectors: Float32Array[];
  /** As the provider counted; null where it said nothing. */
  readonly inputTokens: number | null;
  readonly providerRequestId: string | null;
}

/** The embedding models of a process. */
export interface Embedder {
  models(): EmbeddingModel[];
  /** The deployment's own model: `EMBEDDING_MODEL`, else `minilm-l6-v2` if listed, else `hash-v1`. May be `none`. */
  readonly defaultModel: string;
  /** Null for `none` and for an id that this deployment doesn't have. */
  find(id: string): EmbeddingModel | null;
  /** Vectors of length 1, one a text, in as many calls as it takes. Throws an EmbeddingError, or the signal's reason. */
  embed(request: EmbeddingRequest): Promise<Float32Array[]>;
  /** One call with at most `maxBatch` texts: what is billed on its own. Throws like `embed`. */
  call(request: EmbeddingRequest): Promise<EmbeddingAnswer>;
  close(): Promise<void>;
}

/** So many texts are hashed before other work of the process gets its turn. */
const hashedAtOnce = 8;

/** Opens the models of this process. Nothing is loaded before it is needed. */
export function createEmbedder(registry: EmbeddingRegistry): Embedder {
  const resolved = new Map(registry.models.map((model) => [model.id, model]));
  const known = new Map(registry.models.map((model) => [model.id, toModel(model)]));
  const remote = createRemoteModels();
  let onboard: OnboardModel | null = null;

  async function call(request: EmbeddingRequest): Promise<EmbeddingAnswer> {
    const model = resolved.get(request.model);
    if (model === undefined) throw new EmbeddingError('unknown_model', `no embedding model ${request.model}`);
    if (request.texts.length > model.maxBatch)
      throw new Error(`${model.id} takes ${model.maxBatch} texts at once, not ${request.texts.length}`);
    request.signal.throwIfAborted();
    switch (model.adapter) {
      case 'hash':
        return unbilled(await hashAll(request));
      case 'onboard':
        onboard ??= createOnboardModel(model.files, model);
        return unbilled(await onboard.embed(request));
      case 'remote':
        return remote.call(model, request);
      default:
        throw new Error(`no adapter for ${model satisfies never}`);
    }
  }

  return {
    models: () => [...known.values()],
    defaultModel: registry.defaultModel,
    find: (id) => known.get(id) ?? null,
    async embed(request) {
      const size = resolved.get(request.model)?.maxBatch ?? 1;
      const vectors: Float32Array[] = [];
      for (let at = 0; at < request.texts.length; at += size)
        vectors.push(...(await call({ ...request, texts: request.texts.slice(at, at + size) })).vectors);
      return vectors;
    },
    call,
    close: async () => void (await Promise.all([onboard?.close(), remote.close()])),
  };
}

async function hashAll({ texts, signal }: EmbeddingRequest): Promise<Float32Array[]> {
  const vectors: Float32Array[] = [];
  for (const [at, text] of texts.entries()) {
    if (at > 0 && at % hashedAtOnce === 0) await new Promise(setImmediate);
    signal.throwIfAborted();
    vectors.push(hashVector(text));
  }
  return vectors;
}

function unbilled(vectors: Float32Array[]): EmbeddingAnswer {
  return { vectors, inputTokens: null, providerRequestId: null };
}

function toModel(model: ResolvedEmbedding): EmbeddingModel {
  return {
    id: model.id,
    provider: model.provider,
    dim: model.dim,
    maxTokens: model.maxTokens,
    fusionWeight: model.fusionWeight,
    revision: revisionOf(model),
    free: model.isFree,
    isCached: model.adapter !== 'hash',
    inProcess: model.adapter !== 'remote',
    maxBatch: model.maxBatch,
    countTokens: counterOf(model),
  };
}

/** What is put before a text makes another vector of it. */
function revisionOf({ revision, documentPrefix }: ResolvedEmbedding): string {
  return documentPrefix === '' ? revision : `${revision}-${createHash('sha256').update(documentPrefix).digest('hex').slice(0, 8)}`;
}

/** By the model's own tokenizer, read when it is first asked; else by a common vocabulary. */
function counterOf(model: ResolvedEmbedding): (text: string) => number {
  const path = model.adapter === 'onboard' ? model.files.tokenizer : model.tokenizer;
  if (path === null) return countTokens;
  let count: ((text: string) => number) | null = null;
  return (text) => {
    count ??= openTokenizer(readFileSync(path, 'utf8')).count;
    return count(text);
  };
}
