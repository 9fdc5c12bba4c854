import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { EnvironmentError } from '../config/environment.ts';
import type { EmbeddingEntry } from '../models/embedding-entry.ts';
import { callLimits, type CallLimits } from '../models/limits.ts';
import type { ModelConnection, ModelEnv } from '../models/models.ts';
import { hashDim } from './hash.ts';

/** The value of `embedding_model`, and of `EMBEDDING_MODEL`, that switches vectors off. */
export const noEmbeddings = 'none';

/** Paths of the on-board model's files. */
export interface OnboardFiles {
  readonly model: string;
  readonly tokenizer: string;
}

/** One embedding model that this deployment can use. */
export type ResolvedEmbedding = EmbeddingEntry & {
  /** Null: its calls need no permit. */
  readonly limits: CallLimits | null;
} & (
    | { readonly adapter: 'hash' }
    | { readonly adapter: 'onboard'; readonly files: OnboardFiles }
    | { readonly adapter: 'remote'; readonly connection: ModelConnection }
  );

/** The embedding models of a deployment. */
export interface EmbeddingRegistry {
  readonly models: readonly ResolvedEmbedding[];
  /** `EMBEDDING_MODEL`, else `minilm-l6-v2` if its files are there, else `hash-v1`; may be `none`. */
  readonly defaultModel: string;
}

const builtin = {
  provider: 'builtin',
  queryPrefix: '',
  documentPrefix: '',
  tokenizer: null,
  isFree: true,
  sendsDimensions: false,
  ownLimits: null,
  limits: null,
} as const;

/** Feature hashing, which needs nothing: nearness only by shared words, so it only helps where the lexical leg finds nothing. */
const hashModel: ResolvedEmbedding = {
  ...builtin,
  adapter: 'hash',
  id: 'hash-v1',
  name: 'hash-v1',
  dim: hashDim,
  maxTokens: 8_192,
  fusionWeight: 0,
  revision: '1',
  maxBatch: 256,
};

/** all-MiniLM-L6-v2 with weights of 8 bits; `revision` names the file by the head of its SHA-256. */
const onboardModel = {
  ...builtin,
  adapter: 'onboard',
  id: 'minilm-l6-v2',
  name: 'all-MiniLM-L6-v2',
  dim: 384,
  maxTokens: 256,
  fusionWeight: 1,
  revision: '8199be6f699a',
  maxBatch: 8,
} as const;

/** Returns the models in process and those of providers with a key. Throws an EnvironmentError for an `EMBEDDING_MODEL` that is none of them. */
export function resolveEmbeddings(
  entries: readonly EmbeddingEntry[],
  connections: ReadonlyMap<string, ModelConnection>,
  env: ModelEnv,
): EmbeddingRegistry {
  const files = onboardFiles(env['EMBEDDING_MODEL_DIR']);
  const models: ResolvedEmbedding[] = [
    hashModel,
    ...(files === null ? [] : [{ ...onboardModel, files }]),
    ...entries.flatMap((entry) => {
      const connection = connections.get(entry.provider);
      return connection
        ? [{ ...entry, adapter: 'remote' as const, connection, limits: callLimits(connection.limits, entry.ownLimits) }]
        : [];
    }),
  ];
  const fallback = files === null ? hashModel.id : onboardModel.id;
  const wanted = env['EMBEDDING_MODEL'] || fallback;
  if (wanted !== noEmbeddings && !models.some(({ id }) => id === wanted)) throw unknownModel(wanted, models);
  return { models, defaultModel: wanted };
}

/** Returns what distinguishes two registries: everything except keys and paths of files. */
export function embeddingFacts({ models, defaultModel }: EmbeddingRegistry): unknown {
  const facts = models.map((model) => {
    if (model.adapter !== 'remote') return { id: model.id, revision: model.revision };
    const { connection, ...entry } = model;
    return { ...entry, base_url: connection.baseUrl };
  });
  return { models: facts, defaultModel };
}

/** Returns the model's files in a folder, if all exist and this platform has the runtime's binary. */
function onboardFiles(folder: string | undefined): OnboardFiles | null {
  if (!folder) return null;
  const files = { model: join(folder, 'model.onnx'), tokenizer: join(folder, 'tokenizer.json') };
  return [files.model, files.tokenizer, runtimeBinary()].every((path) => existsSync(path)) ? files : null;
}

/** Returns the path of onnxruntime-node's native module for this platform, whether it exists or not. */
function runtimeBinary(): string {
  const entry = createRequire(import.meta.url).resolve('onnxruntime-node');
  return join(dirname(entry), '..', 'bin', 'napi-v6', process.platform, process.arch, 'onnxruntime_binding.node');
}

function unknownModel(wanted: string, models: readonly ResolvedEmbedding[]): EnvironmentError {
  const known = [...models.map(({ id }) => id), noEmbeddings].join(', ');
  const hint = wanted === onboardModel.id ? ': its files are not in EMBEDDING_MODEL_DIR' : '';
  return new EnvironmentError(new Map([['EMBEDDING_MODEL', `${wanted} is no embedding model of this deployment${hint}; known: ${known}`]]));
}
