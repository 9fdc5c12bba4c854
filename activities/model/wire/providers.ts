import { createAnthropic } from '@ai-sdk/anthropic';
import { createOpenAI } from '@ai-sdk/openai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import {
  APICallError,
  InvalidArgumentError,
  InvalidPromptError,
  InvalidResponseDataError,
  JSONParseError,
  TypeValidationError,
  UnsupportedFunctionalityError,
} from '@ai-sdk/provider';
import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4FunctionTool,
  LanguageModelV4Message,
  LanguageModelV4StreamPart,
  LanguageModelV4ToolResultOutput,
  SharedV4ProviderOptions,
} from '@ai-sdk/provider';
import { Agent, fetch as undiciFetch } from 'undici';
import type { ModelAdapter, ResolvedModel } from '../../../ports/models/models.ts';
import { resultToolSlug } from '../../../db/agents/effective/result-tool.ts';
import { toProviderPrompt } from '../prompt/prompt.ts';
import { wordsIn, wordsInText } from './provider-message.ts';
import type { ProviderError } from '../errors/signals.ts';
import type { ModelStepRequest } from '../step.ts';
import { mendResponse, type WireOutcome } from './wire.ts';
import { inNewestDialect } from '../../../workflows/contracts/tools/schema-dialect.ts';

// The only file that knows the SDK: its types under our names, its providers, its errors as plain facts.
export type ProviderPart = LanguageModelV4StreamPart;
export type ProviderMessage = LanguageModelV4Message;
export type ProviderPrompt = LanguageModelV4Message[];
export type ProviderAssistantPart = Extract<LanguageModelV4Message, { role: 'assistant' }>['content'][number];
export type ProviderFilePart = Extract<Extract<LanguageModelV4Message, { role: 'user' }>['content'][number], { type: 'file' }>;
export type ProviderToolOutput = LanguageModelV4ToolResultOutput;
export type ProviderOptions = SharedV4ProviderOptions;

/** An answer that has begun. */
export interface ProviderStream {
  readonly parts: ReadableStream<ProviderPart>;
  readonly requestId: string | null;
}

/** The model providers of a process, with their pool of connections. */
export interface Providers {
  /** Pause between the deltas of `builtin/extractive`, so that its answer streams like any other. */
  readonly paceMs: number;
  /**
   * Sends the request. The signal ends it at any moment; each call needs a signal of its own. Rejects with the SDK's error, which `readProviderError`
   * interprets. `ending` is filled while the answer is read.
   */
  open(request: ModelStepRequest, signal: AbortSignal, outcome: WireOutcome): Promise<ProviderStream>;
  close(): Promise<void>;
}

/** Connections have no timeout except for connecting: the step decides how long a model may be silent. */
export function createProviders(options: { readonly paceMs?: number } = {}): Providers {
  const agent = new Agent({ headersTimeout: 0, bodyTimeout: 0, connect: { timeout: 10_000 }, allowH2: false });
  const models = new Map<string, LanguageModelV4>();

  // The SDK passes a call's signal to fetch, and nothing else that would distinguish the calls of a model.
  const outcomes = new WeakMap<AbortSignal, WireOutcome>();
  // undici's own fetch and Node's differ only in their declarations
  const fetchBeside = ((url: string, init: object) => undiciFetch(url, { ...init, dispatcher: agent })) as unknown as typeof fetch;
  const fetchMended =
    (adapter: ModelAdapter): typeof fetch =>
    async (url, init) => {
      const outcome = init?.signal ? outcomes.get(init.signal) : undefined;
      const response = await fetchBeside(url, init);
      return outcome === undefined ? response : mendResponse(response, adapter, outcome);
    };
  const modelOf = (model: ResolvedModel) => {
    const known = models.get(model.id) ?? connect(model, fetchMended(model.connection.adapter));
    models.set(model.id, known);
    return known;
  };

  return {
    paceMs: options.paceMs ?? 8,
    async open(request, signal, outcome) {
      outcomes.set(signal, outcome);
      const { stream, response } = await modelOf(request.model).doStream(callOptions(request, signal));
      return { parts: stream, requestId: requestIdOf(response?.headers ?? {}) };
    },
    close: () => agent.destroy(),
  };
}

/** Name under which an OpenAI-compatible server takes options; under another name the SDK would put our fields into its messages. */
const compatibleName = 'compatible';

function connect(model: ResolvedModel, fetchBeside: typeof fetch): LanguageModelV4 {
  const { adapter, baseUrl } = model.connection;
  const settings = { apiKey: model.connection.apiKey() ?? '', baseURL: baseUrl ?? '', fetch: fetchBeside };

  switch (adapter) {
    case 'openai':
      return createOpenAI(settings).responses(model.name);
    case 'anthropic':
      return createAnthropic(settings).languageModel(model.name);
    case 'openai_compatible':
      return createOpenAICompatible({
        ...settings,
        name: compatibleName,
        includeUsage: true,
        supportsStructuredOutputs: model.capabilities.json === 'native',
      }).chatModel(model.name);
    case 'builtin':
      throw new Error(`${model.id} is answered in process`);
    default:
      throw new Error(`no provider for ${adapter satisfies never}`);
  }
}

function callOptions(request: ModelStepRequest, signal: AbortSignal): LanguageModelV4CallOptions {
  const { model, settings } = request;
  const mayCall = model.capabilities.tools && request.tools.length > 0;

  return {
    prompt: toProviderPrompt({
      modelId: model.id,
      adapter: model.adapter,
      instructions: request.instructions,
      messages: request.messages,
      cache: settings.cache,
    }),
    maxOutputTokens: request.maxOutputTokens ?? (model.adapter === 'anthropic' ? (model.maxOutputTokens ?? undefined) : undefined),
    temperature: settings.temperature ?? undefined,
    topP: settings.topP ?? undefined,
    seed: settings.seed ?? undefined,
    stopSequences: settings.stop.length > 0 ? [...settings.stop] : undefined,
    reasoning: model.capabilities.reasoning ? settings.reasoning : undefined,
    tools: mayCall ? request.tools.map((tool) => functionTool(model, tool)) : undefined,
    ...answerOptions(request),
    providerOptions: providerOptions(request, mayCall),
    includeRawChunks: model.adapter !== 'anthropic', // the only place where a refusal differs from an answer
    abortSignal: signal,
  };
}

/** Requests JSON either natively or through a tool that the model has to call in the end. */
function answerOptions({ json = null, tools }: ModelStepRequest): Pick<LanguageModelV4CallOptions, 'responseFormat' | 'toolChoice'> {
  if (json === null || json.mode === 'prompt') return {};
  if (json.mode === 'tool') return { toolChoice: tools.length === 1 ? { type: 'tool', toolName: resultToolSlug } : { type: 'required' } };
  return { responseFormat: { type: 'json', name: json.name, ...(json.schema === null ? {} : { schema: inNewestDialect(json.schema) }) } };
}

function functionTool(model: ResolvedModel, tool: ModelStepRequest['tools'][number]): LanguageModelV4FunctionTool {
  return {
    type: 'function',
    name: tool.slug,
    description: tool.description,
    inputSchema: inNewestDialect(tool.inputSchema), // a JSON Schema by our own check; the SDK passes it on
    ...(model.adapter === 'openai' ? { strict: false } : {}), // Responses would otherwise rewrite the tenant's schema
  };
}

/** Returns the author's settings under the SDK's names, only keys that the registry allows; Responses gets `store: false`, so that it never stores anything. */
function providerOptions(request: ModelStepRequest, mayCall: boolean): SharedV4ProviderOptions {
  const { model, settings } = request;
  const allowed = Object.entries(settings.providerOptions).filter(([key]) => model.providerOptionKeys.includes(key));
  const single = mayCall && !model.capabilities.parallelTools;
  // A tenant's schema is treated as strict only where its author says so.
  const isLoose = request.json?.mode === 'native' && request.json.schema !== null && !request.json.strict;

  if (model.adapter === 'openai')
    return {
      openai: {
        ...(single ? { parallelToolCalls: false } : {}),
        ...(isLoose ? { strictJsonSchema: false } : {}),
        ...camelKeys(allowed),
        store: false,
      },
    };
  if (model.adapter === 'anthropic') return { anthropic: { ...(single ? { disableParallelToolUse: true } : {}), ...camelKeys(allowed) } };
  return {
    [compatibleName]: {
      ...(single ? { parallel_tool_calls: false } : {}),
      ...(isLoose ? { strictJsonSchema: false } : {}),
      ...Object.fromEntries(allowed),
    } as SharedV4ProviderOptions[string],
  }; // JSON by the revision's schema
}

function camelKeys(entries: readonly [string, unknown][]): SharedV4ProviderOptions[string] {
  const camel = (value: unknown): unknown => {
    if (value === null || typeof value !== 'object' || Array.isArray(value)) return value;
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [camelKey(key), camel(inner)]));
  };

  return Object.fromEntries(entries.map(([key, value]) => [camelKey(key), camel(value)])) as SharedV4ProviderOptions[string]; // JSON by the revision's schema
}

function camelKey(key: string): string {
  return key.replaceAll(/_([a-z])/g, (_match, letter: string) => letter.toUpperCase());
}

function requestIdOf(headers: Readonly<Record<string, string>>): string | null {
  return headers['x-request-id'] ?? headers['request-id'] ?? null;
}

/** Returns the facts of whatever the SDK threw or streamed as an error. Takes no prompt, body or stack from it. */
export function readProviderError(error: unknown): ProviderError {
  if (APICallError.isInstance(error)) return apiError(error);
  if (InvalidArgumentError.isInstance(error) || InvalidPromptError.isInstance(error) || UnsupportedFunctionalityError.isInstance(error))
    return { kind: 'refused_request' };
  if (JSONParseError.isInstance(error) || TypeValidationError.isInstance(error) || InvalidResponseDataError.isInstance(error))
    return { kind: 'garbled', message: '' };

  const words = error instanceof Error ? null : wordsIn(error); // an Error comes from the adapter: it could not read the answer
  return words ? { kind: 'told', ...words } : { kind: 'garbled', message: '' };
}

function apiError(error: APICallError): ProviderError {
  const network = networkCode(error.cause);
  if (error.statusCode === undefined) return { kind: 'network', code: network };
  if (error.statusCode < 400) return network === null ? { kind: 'garbled', message: '' } : { kind: 'network', code: network };

  const headers = error.responseHeaders ?? {};
  const words = wordsInText(error.responseBody ?? '') ?? wordsIn(error.data);
  return {
    kind: 'http',
    status: error.statusCode,
    headers,
    requestId: requestIdOf(headers),
    code: words?.code ?? null,
    message: words?.message ?? '',
  };
}

function networkCode(cause: unknown): string | null {
  let at = cause;
  for (let depth = 0; at instanceof Error && depth < 5; depth++) {
    if ('code' in at && typeof at.code === 'string') return at.code;
    at = at.cause;
  }

  return null;
}
