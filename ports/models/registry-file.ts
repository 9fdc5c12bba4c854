import Type, { type Static } from 'typebox';
import { Compile } from 'typebox/compile';
import { EmbeddingModelEntry, toEmbeddingEntry, type EmbeddingEntry } from './embedding-entry.ts';
import { EnvironmentError } from '../config/environment.ts';
import { LimitsEntry, toLimits, type RateLimits } from './limits.ts';

export const modelAdapters = ['openai', 'anthropic', 'openai_compatible', 'builtin'] as const;
export type ModelAdapter = (typeof modelAdapters)[number];

export interface ModelCapabilities {
  readonly tools: boolean;
  readonly parallelTools: boolean;
  /** How the model is made to answer in JSON: natively, by a forced tool, or by the prompt. */
  readonly json: 'native' | 'tool' | 'prompt';
  readonly reasoning: boolean;
  readonly image: boolean;
  readonly pdf: boolean;
  readonly audio: boolean;
}

export interface ModelFacts {
  readonly contextWindow: number;
  readonly maxOutputTokens: number | null;
  readonly capabilities: ModelCapabilities;
  readonly firstTokenS: number;
  readonly idleS: number;
  readonly reasoningInOutput: boolean;
  readonly isFree: boolean;
}

export interface ProviderEntry {
  readonly id: string;
  readonly adapter: ModelAdapter;
  readonly baseUrl: string | null;
  /** The variable that holds the key; null when none is needed. */
  readonly keyEnv: string | null;
  readonly defaultModel: string | null;
  readonly providerOptionKeys: readonly string[];
  readonly modelDefaults: ModelFacts;
  /** Of all its models together; null: none. */
  readonly limits: RateLimits | null;
}

export interface ModelEntry {
  readonly id: string;
  readonly provider: string;
  readonly name: string;
  readonly aliases: readonly string[];
  readonly overrides: Partial<ModelFacts>;
  readonly limits: RateLimits | null;
}

export interface RegistryFile {
  readonly providers: readonly ProviderEntry[];
  readonly models: readonly ModelEntry[];
  readonly embeddings: readonly EmbeddingEntry[];
}

/** Ids of the embedding models in code, and of no model. */
const builtinIds = ['hash-v1', 'minilm-l6-v2', 'none'];

const Id = Type.String({ pattern: '^[a-z0-9][a-z0-9_-]{0,39}$' });
const Name = Type.String({ minLength: 1, maxLength: 80 });
const Seconds = Type.Number({ exclusiveMinimum: 0, maximum: 1_740 }); // a whole call is bounded by 29 minutes

const Facts = {
  context_window: Type.Integer({ minimum: 1, maximum: 100_000_000 }),
  max_output_tokens: Type.Optional(Type.Union([Type.Integer({ minimum: 1, maximum: 10_000_000 }), Type.Null()])),
  capabilities: Type.Object(
    {
      tools: Type.Boolean(),
      parallel_tools: Type.Boolean(),
      json: Type.Union([Type.Literal('native'), Type.Literal('tool'), Type.Literal('prompt')]),
      reasoning: Type.Boolean(),
      image: Type.Boolean(),
      pdf: Type.Boolean(),
      audio: Type.Boolean(),
    },
    { additionalProperties: false },
  ),
  first_token_s: Seconds,
  idle_s: Seconds,
  reasoning_in_output: Type.Optional(Type.Boolean()),
  free: Type.Optional(Type.Boolean()),
};
const Defaults = Type.Object(Facts, { additionalProperties: false });

const Provider = Type.Object(
  {
    id: Id,
    adapter: Type.Union(modelAdapters.map((adapter) => Type.Literal(adapter))),
    base_url: Type.Optional(Type.String({ pattern: '^https?://', maxLength: 2_000 })),
    key_env: Type.Optional(Type.String({ pattern: '^[A-Z][A-Z0-9_]*$', maxLength: 100 })),
    default_model: Type.Optional(Name),
    provider_options: Type.Optional(Type.Array(Type.String({ pattern: '^[a-z][a-z0-9_]*$', maxLength: 60 }), { maxItems: 50 })),
    model_defaults: Defaults,
    limits: Type.Optional(LimitsEntry),
  },
  { additionalProperties: false },
);

const Model = Type.Object(
  {
    kind: Type.Optional(Type.Literal('chat')),
    id: Type.Optional(Type.String({ minLength: 1, maxLength: 120 })),
    provider: Id,
    name: Name,
    aliases: Type.Optional(Type.Array(Type.String({ minLength: 1, maxLength: 120 }), { maxItems: 20 })),
    ...Type.Partial(Defaults).properties,
    limits: Type.Optional(LimitsEntry),
  },
  { additionalProperties: false },
);

const File = Type.Object(
  { providers: Type.Array(Provider, { minItems: 1 }), models: Type.Array(Type.Unknown(), { minItems: 1 }) },
  { additionalProperties: false },
);
const validator = Compile(File);
const modelValidator = Compile(Model);
const embeddingValidator = Compile(EmbeddingModelEntry);

/** Reads and checks a registry file. Throws an EnvironmentError that names every bad entry and holds no content of the file. */
export function readModelRegistryFile(read: () => string): RegistryFile {
  const value = parse(read);
  if (!validator.Check(value)) {
    const faults = validator.Errors(value).map((error) => `${error.instancePath || '/'} ${error.message}`);
    throw badRegistry([...new Set(faults)].slice(0, 20).join('; '));
  }

  const models = modelsOf(value.models);
  const file = { ...models, providers: value.providers.map(toProvider) };
  const faults = crossFaults(file);
  if (faults.length > 0) throw badRegistry(faults.join('; '));
  return file;
}

/** Reads entries of `"kind": "embedding"` and all others, each by its own schema. */
function modelsOf(entries: readonly unknown[]): Pick<RegistryFile, 'models' | 'embeddings'> {
  const models: ModelEntry[] = [];
  const embeddings: EmbeddingEntry[] = [];
  const faults: string[] = [];
  for (const [at, entry] of entries.entries()) {
    const isEmbedding = typeof entry === 'object' && entry !== null && 'kind' in entry && entry.kind === 'embedding';
    if (isEmbedding && embeddingValidator.Check(entry)) embeddings.push(toEmbeddingEntry(entry));
    else if (!isEmbedding && modelValidator.Check(entry)) models.push(toModel(entry));
    else {
      const found = (isEmbedding ? embeddingValidator : modelValidator).Errors(entry);
      faults.push(...found.map((error) => `/models/${at}${error.instancePath} ${error.message}`));
    }
  }
  if (faults.length > 0) throw badRegistry([...new Set(faults)].slice(0, 20).join('; '));
  return { models, embeddings };
}

function parse(read: () => string): unknown {
  try {
    return JSON.parse(read());
  } catch (error) {
    const code = error !== null && typeof error === 'object' && 'code' in error ? String(error.code) : 'not JSON';
    throw badRegistry(`cannot read the registry file (${code})`);
  }
}

function badRegistry(fault: string): EnvironmentError {
  return new EnvironmentError(new Map([['LONGHAUL_MODEL_REGISTRY', fault]]));
}

/** Returns errors that a schema can't express: references, and names that would be ambiguous. */
function crossFaults(file: RegistryFile): string[] {
  const providers = new Set(file.providers.map((provider) => provider.id));
  const all = [...file.models, ...file.embeddings];
  const names = [...file.models.flatMap((model) => [model.id, ...model.aliases]), ...file.embeddings.map(({ id }) => id), ...builtinIds];
  const needUrl = file.providers.filter((provider) => provider.adapter !== 'builtin' && provider.baseUrl === null);

  return [
    ...(providers.size < file.providers.length ? ['two providers share an id'] : []),
    ...all.filter((model) => !providers.has(model.provider)).map((model) => `model ${model.id}: unknown provider ${model.provider}`),
    ...names.filter((name, at) => names.indexOf(name) !== at).map((name) => `two models are called ${name}`),
    ...file.embeddings
      .filter(({ provider }) => file.providers.some(({ id, adapter }) => id === provider && !isEmbeddingAdapter(adapter)))
      .map(({ id }) => `model ${id}: embedding models are those of adapters openai and openai_compatible`),
    ...needUrl.map((provider) => `provider ${provider.id}: base_url is missing`),
  ];
}

/** Whether servers of an adapter answer `POST /embeddings`. */
function isEmbeddingAdapter(adapter: ModelAdapter): boolean {
  return adapter === 'openai' || adapter === 'openai_compatible';
}

function toProvider(provider: Static<typeof Provider>): ProviderEntry {
  return {
    id: provider.id,
    adapter: provider.adapter,
    baseUrl: provider.base_url ?? null,
    keyEnv: provider.key_env ?? null,
    defaultModel: provider.default_model ?? null,
    providerOptionKeys: provider.provider_options ?? [],
    limits: toLimits(provider.limits),
    modelDefaults: {
      contextWindow: provider.model_defaults.context_window,
      maxOutputTokens: provider.model_defaults.max_output_tokens ?? null,
      capabilities: toCapabilities(provider.model_defaults.capabilities),
      firstTokenS: provider.model_defaults.first_token_s,
      idleS: provider.model_defaults.idle_s,
      reasoningInOutput: provider.model_defaults.reasoning_in_output ?? true,
      isFree: provider.model_defaults.free ?? false,
    },
  };
}

function toModel(model: Static<typeof Model>): ModelEntry {
  return {
    id: model.id ?? `${model.provider}/${model.name}`,
    provider: model.provider,
    name: model.name,
    aliases: model.aliases ?? [],
    limits: toLimits(model.limits),
    overrides: {
      ...(model.context_window === undefined ? {} : { contextWindow: model.context_window }),
      ...(model.max_output_tokens === undefined ? {} : { maxOutputTokens: model.max_output_tokens }),
      ...(model.capabilities === undefined ? {} : { capabilities: toCapabilities(model.capabilities) }),
      ...(model.first_token_s === undefined ? {} : { firstTokenS: model.first_token_s }),
      ...(model.idle_s === undefined ? {} : { idleS: model.idle_s }),
      ...(model.reasoning_in_output === undefined ? {} : { reasoningInOutput: model.reasoning_in_output }),
      ...(model.free === undefined ? {} : { isFree: model.free }),
    },
  };
}

function toCapabilities(capabilities: Static<typeof Facts.capabilities>): ModelCapabilities {
  return {
    tools: capabilities.tools,
    parallelTools: capabilities.parallel_tools,
    json: capabilities.json,
    reasoning: capabilities.reasoning,
    image: capabilities.image,
    pdf: capabilities.pdf,
    audio: capabilities.audio,
  };
}
