import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Attributes } from '@opentelemetry/api';
import type { ModelPermits } from '../models/permits/permits.ts';
import { countTokens } from '../models/token-count.ts';
import { attribute } from '../telemetry/conventions.ts';
import { genAiName, inSpan } from '../telemetry/spans.ts';
import { EmbeddingError } from './errors.ts';
import { hashVector } from './hash.ts';
import { createOnboardModel, type OnboardModel } from './onboard.ts';
import { embedWithPermit } from './permits.ts';
import type { EmbeddingRegistry, ResolvedEmbedding } from './registry.ts';
import { createRemoteModels, type RemoteEmbedding } from './remote.ts';
import { openTokenizer } from './tokenizer.ts';

export { EmbeddingError } from './errors.ts';
export { noEmbeddings } from './registry.ts';

/** One embedding model of this deployment. Holds no credential. */
export interface EmbeddingModel {
  readonly id: string;
  /** Its provider; `builtin` for models in process. */
  readonly provider: string;
  readonly dim: number;
  /** Longer texts are truncated by the model. */
  readonly maxTokens: number;
  /** Weight of the vector leg relative to the lexical one's 1, where a base sets none; 0: used only if the lexical leg finds nothing. */
  readonly fusionWeight: number;
  /** Changes when the same text gets another vector; part of the cache's key. */
  readonly revision: string;
  /** Costs nothing when no price is in force. */
  readonly free: boolean;
  /** Computing a vector takes so long, or costs so much, that it is cached. */
  readonly isCached: boolean;
  /** Answers without leaving the machine, and is never billed. */
  readonly inProcess: boolean;
  /** Maximum texts of one call. */
  readonly maxBatch: number;
  /** Counts the tokens of a text as this model does, without start and end tokens. */
  readonly countTokens: (text: string) => number;
}

/** Texts and what they are for: some models have different prefixes for a query and a document. */
export interface EmbeddingRequest {
  readonly model: string;
  readonly kind: 'query' | 'document';
  readonly texts: readonly string[];
  /** The workspace that pays, among whose calls this one waits for a permit; absent: nobody's. */
  readonly workspaceId?: string;
  readonly signal: AbortSignal;
}

/** The result of one call. */
export interface EmbeddingAnswer {
  /** One per text, in order, of length 1. */
  readonly vectors: Float32Array[];
  /** As the provider counted; null when it reported nothing. */
  readonly inputTokens: number | null;
  readonly providerRequestId: string | null;
}

/** The embedding models of a process. */
export interface Embedder {
  models(): EmbeddingModel[];
  /** The deployment's own model: `EMBEDDING_MODEL`, else `minilm-l6-v2` if listed, else `hash-v1`. May be `none`. */
  readonly defaultModel: string;
  /** Returns null for `none` and for an id that this deployment doesn't have. */
  find(id: string): EmbeddingModel | null;
  /** Returns vectors of length 1, one per text, in as many calls as needed. Throws an EmbeddingError, or the signal's reason. */
  embed(request: EmbeddingRequest): Promise<Float32Array[]>;
  /** Makes one call with at most `maxBatch` texts, the unit of billing. Throws like `embed`. */
  call(request: EmbeddingRequest): Promise<EmbeddingAnswer>;
  close(): Promise<void>;
}

/** Texts that are hashed before other work of the process gets its turn. */
const hashedAtOnce = 8;

/** Opens the models of this process. Nothing is loaded before it is needed. `permits`: for models with limits. */
export function createEmbedder(registry: EmbeddingRegistry, permits: ModelPermits | null = null): Embedder {
  const resolved = new Map(registry.models.map((model) => [model.id, model]));
  const known = new Map(registry.models.map((model) => [model.id, toModel(model)]));
  const remote = createRemoteModels();
  let onboard: OnboardModel | null = null;

  function callRemote(model: RemoteEmbedding, request: EmbeddingRequest): Promise<EmbeddingAnswer> {
    const send = () =>
      inSpan({ name: genAiName('embeddings', model.id), kind: 'client', attributes: attributesOf(model) }, async (span) => {
        const answer = await remote.call(model, request);
        if (answer.inputTokens !== null) span.setAttribute(attribute.inputTokens, answer.inputTokens);
        return answer;
      });
    if (permits === null || model.limits === null) return send();
    const count = known.get(model.id)?.countTokens ?? countTokens;
    const tokens = request.texts.reduce((sum, text) => sum + Math.min(model.maxTokens, count(text)), 0);
    return embedWithPermit(permits, { model, request, tokens }, send);
  }

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
        return callRemote(model, request);
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

function attributesOf(model: ResolvedEmbedding): Attributes {
  return {
    [attribute.operation]: 'embeddings',
    [attribute.provider]: model.provider,
    [attribute.requestModel]: model.id,
    [attribute.dimensions]: model.dim,
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

/** A prefix changes the vector of a text, so it changes the revision. */
function revisionOf({ revision, documentPrefix }: ResolvedEmbedding): string {
  return documentPrefix === '' ? revision : `${revision}-${createHash('sha256').update(documentPrefix).digest('hex').slice(0, 8)}`;
}

/** Counts with the model's own tokenizer, loaded at the first call; otherwise with a common vocabulary. */
function counterOf(model: ResolvedEmbedding): (text: string) => number {
  const path = model.adapter === 'onboard' ? model.files.tokenizer : model.tokenizer;
  if (path === null) return countTokens;
  let count: ((text: string) => number) | null = null;
  return (text) => {
    count ??= openTokenizer(readFileSync(path, 'utf8')).count;
    return count(text);
  };
}
