import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Logger } from 'pino';
import { embeddingFacts, resolveEmbeddings, type EmbeddingRegistry } from '../embeddings/registry.ts';
import { EnvironmentError } from '../config/environment.ts';
import { callLimits, type CallLimits, type RateLimits } from './limits.ts';
import type { LimitedModel } from './permits/permits.ts';
import {
  readModelRegistryFile,
  type ModelAdapter,
  type ModelCapabilities,
  type ModelEntry,
  type ProviderEntry,
  type RegistryFile,
} from './registry-file.ts';

export type { ModelAdapter, ModelCapabilities } from './registry-file.ts';

export const reasoningLevels = ['provider-default', 'none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const;
export type ReasoningLevel = (typeof reasoningLevels)[number];

/** One model as the rest of the product sees it. Holds no credential. */
export interface ModelInfo {
  readonly id: string;
  readonly provider: string;
  readonly adapter: ModelAdapter;
  /** The provider's own name of the model. */
  readonly name: string;
  readonly aliases: readonly string[];
  readonly kind: 'chat';
  readonly contextWindow: number;
  readonly maxOutputTokens: number | null;
  readonly capabilities: ModelCapabilities;
  readonly firstTokenS: number;
  readonly idleS: number;
  /** False when the provider counts reasoning tokens beside its output tokens. */
  readonly reasoningInOutput: boolean;
  /** Costs nothing when no price is in force. */
  readonly isFree: boolean;
  /** The keys of `model_settings.provider_options` that are passed on. */
  readonly providerOptionKeys: readonly string[];
  /** Null: its calls need no permit. */
  readonly limits: CallLimits | null;
}

export interface ModelConnection {
  readonly providerId: string;
  /** Of all models of the provider together; null: none. */
  readonly limits: RateLimits | null;
  readonly adapter: ModelAdapter;
  readonly baseUrl: string | null;
  /** A function, so that neither JSON nor a log ever shows the key. */
  apiKey(): string | null;
}

export interface ResolvedModel extends ModelInfo {
  readonly connection: ModelConnection;
}

export interface ModelRegistry {
  /** SHA-256 of everything except the keys; must be equal in all processes of a deployment. */
  readonly hash: string;
  readonly defaultModelId: string;
  /** Null selects the deployment's default; returns null for a model that this deployment can't call. */
  resolve(idOrAlias: string | null): ResolvedModel | null;
  list(): readonly ModelInfo[];
  /** The embedding models. */
  readonly embeddings: EmbeddingRegistry;
}

/** The whole environment: a registry file may name any variable that holds a key. */
export type ModelEnv = Readonly<Record<string, string | undefined>>;

const compatibleProviderId = 'compatible';

/**
 * Reads the registry (`LONGHAUL_MODEL_REGISTRY`, otherwise the shipped one), drops the providers whose key is missing, and adds what `LONGHAUL_MODEL_BASE_URL`
 * and `LONGHAUL_MODEL` describe. Throws an EnvironmentError that names every bad variable and entry.
 */
export function loadModelRegistry(env: ModelEnv, log: Pick<Logger, 'info'>): ModelRegistry {
  const path = env['LONGHAUL_MODEL_REGISTRY'] || new URL('./registry.json', import.meta.url);
  const file = withEnvironment(
    readModelRegistryFile(() => readFileSync(path, 'utf8')),
    env,
  );
  const providers = new Map(file.providers.filter((provider) => isUsable(provider, env)).map((provider) => [provider.id, provider]));
  const models = file.models.flatMap((entry) => {
    const provider = providers.get(entry.provider);
    return provider ? [resolvedModel(provider, entry, env)] : [];
  });

  const byName = indexByName(models);
  const fallback = chooseDefault({ providers: [...providers.values()], byName, wanted: wantedDefault(env) });
  const connections = new Map([...providers].map(([id, provider]) => [id, connectionOf(provider, env)]));
  const embeddings = resolveEmbeddings(file.embeddings, connections, env);
  const hash = hashOf(models, fallback.id, embeddings);
  log.info(
    { model_registry: hash, models: models.length, default_model: fallback.id, embedding_model: embeddings.defaultModel },
    'model registry loaded',
  );

  return {
    hash,
    defaultModelId: fallback.id,
    resolve: (idOrAlias) => (idOrAlias === null ? fallback : (byName.get(idOrAlias) ?? null)),
    list: () => models,
    embeddings,
  };
}

/** Ids of the providers whose models this deployment can call. */
export function providersOf(registry: Pick<ModelRegistry, 'list'>): string[] {
  return [...new Set(registry.list().map(({ provider }) => provider))];
}

/** The models whose calls need a permit, chat and embeddings. */
export function limitedModels({ list, embeddings }: Pick<ModelRegistry, 'list' | 'embeddings'>): LimitedModel[] {
  return [...list(), ...embeddings.models].filter(({ limits }) => limits !== null);
}

/** Returns the names of the capabilities that a configuration needs and the model lacks; empty when it may be used. */
export function missingCapabilities(model: ModelInfo, needs: { readonly hasTools: boolean; readonly reasoning: ReasoningLevel }): string[] {
  const wantsReasoning = needs.reasoning !== 'provider-default' && needs.reasoning !== 'none';

  return [
    ...(needs.hasTools && !model.capabilities.tools ? ['tools'] : []),
    ...(wantsReasoning && !model.capabilities.reasoning ? ['reasoning'] : []),
  ];
}

function isUsable(provider: ProviderEntry, env: ModelEnv): boolean {
  return provider.keyEnv === null || !!env[provider.keyEnv];
}

/** `LONGHAUL_MODEL_BASE_URL` adds a provider with one model; `LONGHAUL_MODEL` alone may name a model that the file does not list. */
function withEnvironment(file: RegistryFile, env: ModelEnv): RegistryFile {
  const baseUrl = env['LONGHAUL_MODEL_BASE_URL'];
  const name = env['LONGHAUL_MODEL'];
  if (baseUrl)
    return {
      ...file,
      providers: [...file.providers, compatibleProvider(baseUrl, name)],
      models: [...file.models, bareModel(compatibleProviderId, name ?? '')],
    };
  if (!name || file.models.some((model) => [model.id, model.name, ...model.aliases].includes(name))) return file;

  const [prefix, rest] = splitOnce(name, '/');
  const named = file.providers.find((provider) => provider.id === prefix && provider.adapter !== 'builtin');
  if (named && rest !== '') return { ...file, models: [...file.models, bareModel(named.id, rest)] };

  const keyed = file.providers.filter((provider) => provider.keyEnv !== null && isUsable(provider, env));
  return keyed.length === 1 && keyed[0] ? { ...file, models: [...file.models, bareModel(keyed[0].id, name)] } : file;
}

function compatibleProvider(baseUrl: string, name: string | undefined): ProviderEntry {
  const isUrl = URL.canParse(baseUrl) && /^https?:$/.test(new URL(baseUrl).protocol);
  const faults = new Map<string, string>();
  if (!isUrl) faults.set('LONGHAUL_MODEL_BASE_URL', 'must be an http or https URL');
  if (!name) faults.set('LONGHAUL_MODEL', 'required with LONGHAUL_MODEL_BASE_URL: the name of a model of that server');
  if (!name || !isUrl) throw new EnvironmentError(faults);

  return {
    id: compatibleProviderId,
    adapter: 'openai_compatible',
    baseUrl,
    keyEnv: null,
    defaultModel: name,
    limits: null,
    providerOptionKeys: [
      'top_k',
      'min_p',
      'repetition_penalty',
      'frequency_penalty',
      'presence_penalty',
      'parallel_tool_calls',
      'reasoning_effort',
      'service_tier',
    ],
    modelDefaults: {
      contextWindow: 128_000,
      maxOutputTokens: null,
      capabilities: { tools: true, parallelTools: true, json: 'tool', reasoning: true, image: false, pdf: false, audio: false },
      firstTokenS: 120,
      idleS: 60,
      reasoningInOutput: true,
      isFree: false,
    },
  };
}

function bareModel(provider: string, name: string): ModelEntry {
  return { id: `${provider}/${name}`, provider, name, aliases: [name], overrides: {}, limits: null };
}

function resolvedModel(provider: ProviderEntry, entry: ModelEntry, env: ModelEnv): ResolvedModel {
  return {
    ...provider.modelDefaults,
    ...entry.overrides,
    id: entry.id,
    provider: provider.id,
    adapter: provider.adapter,
    name: entry.name,
    aliases: entry.aliases,
    kind: 'chat',
    providerOptionKeys: provider.providerOptionKeys,
    limits: callLimits(provider.limits, entry.limits),
    connection: connectionOf(provider, env),
  };
}

function connectionOf(provider: ProviderEntry, env: ModelEnv): ModelConnection {
  const keyName = provider.id === compatibleProviderId ? 'LONGHAUL_MODEL_API_KEY' : provider.keyEnv;
  return {
    providerId: provider.id,
    adapter: provider.adapter,
    baseUrl: provider.baseUrl,
    limits: provider.limits,
    apiKey: () => (keyName === null ? null : env[keyName] || null),
  };
}

/** Ids first, then aliases, then bare names; the first model to claim a name keeps it. */
function indexByName(models: readonly ResolvedModel[]): Map<string, ResolvedModel> {
  const byName = new Map<string, ResolvedModel>();
  const claim = (name: string, model: ResolvedModel) => byName.has(name) || byName.set(name, model);

  for (const model of models) claim(model.id, model);
  for (const model of models) for (const alias of model.aliases) claim(alias, model);
  for (const model of models) claim(model.name, model);

  return byName;
}

interface DefaultChoice {
  readonly providers: readonly ProviderEntry[];
  readonly byName: ReadonlyMap<string, ResolvedModel>;
  readonly wanted: string | null;
}

/** The requested model, otherwise that of the first provider with a key, otherwise the built-in one. */
function chooseDefault({ providers, byName, wanted }: DefaultChoice): ResolvedModel {
  if (wanted !== null) {
    const model = byName.get(wanted);
    if (!model) throw fault('LONGHAUL_MODEL', `${wanted} is not a model of a provider with a key; known: ${[...byName.keys()].join(', ')}`);
    return model;
  }

  const ordered = providers.toSorted((a, b) => Number(a.adapter === 'builtin') - Number(b.adapter === 'builtin'));
  const model = ordered.map((provider) => byName.get(`${provider.id}/${provider.defaultModel}`)).find((found) => found !== undefined);
  if (!model) throw fault('LONGHAUL_MODEL_REGISTRY', 'no provider with a key has a default_model');
  return model;
}

function wantedDefault(env: ModelEnv): string | null {
  const name = env['LONGHAUL_MODEL'];
  if (!name) return null;

  return env['LONGHAUL_MODEL_BASE_URL'] ? `${compatibleProviderId}/${name}` : name;
}

function hashOf(models: readonly ResolvedModel[], defaultModelId: string, embeddings: EmbeddingRegistry): string {
  const entries = models.map(({ connection, ...model }) => ({ ...model, base_url: connection.baseUrl }));

  return createHash('sha256')
    .update(JSON.stringify({ entries, defaultModelId, embeddings: embeddingFacts(embeddings) }, sortedKeys))
    .digest('hex');
}

/** A JSON replacer that makes the key order of an entry irrelevant. */
function sortedKeys(_key: string, value: unknown): unknown {
  if (value === null || typeof value !== 'object' || Array.isArray(value)) return value;

  return Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

function splitOnce(text: string, separator: string): [string, string] {
  const at = text.indexOf(separator);

  return at < 0 ? [text, ''] : [text.slice(0, at), text.slice(at + 1)];
}

function fault(variable: string, text: string): EnvironmentError {
  return new EnvironmentError(new Map([[variable, text]]));
}
