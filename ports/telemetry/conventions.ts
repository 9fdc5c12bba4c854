import type { TokenBucket } from '../../workflows/contracts/measurements.ts';

/**
 * The names that our spans use. GenAI: OpenTelemetry's GenAI semantic conventions 0.1.0 (github.com/open-telemetry/semantic-conventions-genai), the rest: the
 * semantic conventions 1.45.0 that they depend on. No other file names an attribute, so that another version is a change of this file.
 */
export const conventions = { genAi: '0.1.0', general: '1.45.0' } as const;

/** The identity of the schema, sent with the spans. */
export const schemaUrl = `https://opentelemetry.io/schemas/${conventions.general}`;

/** Returns the conventions' name of a model's provider; one that they do not list keeps its id in the registry. */
export function genAiProviderOf({ adapter, provider }: { readonly adapter: string; readonly provider: string }): string {
  return adapter === 'openai' || adapter === 'anthropic' ? adapter : provider;
}

/** Operations of agents, models and tools: the value of `gen_ai.operation.name`, with which the name of the span begins. */
export type GenAiOperation = 'invoke_agent' | 'chat' | 'execute_tool' | 'retrieval' | 'embeddings';

/** Attributes of the conventions. */
export const attribute = {
  operation: 'gen_ai.operation.name',
  provider: 'gen_ai.provider.name',
  agentId: 'gen_ai.agent.id',
  agentName: 'gen_ai.agent.name',
  agentVersion: 'gen_ai.agent.version',
  conversationId: 'gen_ai.conversation.id',
  requestModel: 'gen_ai.request.model',
  requestMaxTokens: 'gen_ai.request.max_tokens',
  requestTemperature: 'gen_ai.request.temperature',
  requestStream: 'gen_ai.request.stream',
  responseId: 'gen_ai.response.id',
  responseModel: 'gen_ai.response.model',
  finishReasons: 'gen_ai.response.finish_reasons',
  inputTokens: 'gen_ai.usage.input_tokens',
  outputTokens: 'gen_ai.usage.output_tokens',
  cacheReadTokens: 'gen_ai.usage.cache_read.input_tokens',
  cacheCreationTokens: 'gen_ai.usage.cache_creation.input_tokens',
  reasoningTokens: 'gen_ai.usage.reasoning.output_tokens',
  toolName: 'gen_ai.tool.name',
  toolType: 'gen_ai.tool.type',
  toolCallId: 'gen_ai.tool.call.id',
  dataSourceId: 'gen_ai.data_source.id',
  dimensions: 'gen_ai.embeddings.dimension.count',
  errorType: 'error.type',
  method: 'http.request.method',
  route: 'http.route',
  scheme: 'url.scheme',
  status: 'http.response.status_code',
  serverAddress: 'server.address',
  serverPort: 'server.port',
  mcpMethod: 'mcp.method.name',
  serviceName: 'service.name',
  serviceVersion: 'service.version',
  serviceInstance: 'service.instance.id',
} as const;

/** Attributes that hold texts of a tenant: only for `addContent`, which asks whether they may. */
export const contentAttribute = {
  systemInstructions: 'gen_ai.system_instructions',
  inputMessages: 'gen_ai.input.messages',
  outputMessages: 'gen_ai.output.messages',
  toolArguments: 'gen_ai.tool.call.arguments',
  toolResult: 'gen_ai.tool.call.result',
} as const;

/** Our own attributes, by which a span leads to the rows of its tenant: ids only. */
export const ownAttribute = {
  organizationId: 'longhaul.organization.id',
  workspaceId: 'longhaul.workspace.id',
  runId: 'longhaul.run.id',
  step: 'longhaul.run.step',
  attempt: 'longhaul.run.attempt',
  source: 'longhaul.run.source',
  finishReason: 'longhaul.run.finish_reason',
  operation: 'longhaul.operation',
  correlationId: 'longhaul.correlation_id',
} as const;

/** The tokens of calls as the conventions count them: cached ones among those of the input, those of reasoning among those of the output. */
export function tokenAttributes(tokens: Readonly<Record<TokenBucket, number>>): Readonly<Record<string, number>> {
  return {
    [attribute.inputTokens]: tokens.input + tokens.cached_read + tokens.cached_write,
    [attribute.outputTokens]: tokens.output + tokens.reasoning,
  };
}
