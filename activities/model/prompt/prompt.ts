import type { AttachmentPart } from '../../../db/streams/frame-parts.schema.ts';
import type { ModelAdapter, ReasoningLevel } from '../../../ports/models/models.ts';
import { pairCalls, type PairedMessage } from './pairing.ts';
import type {
  ProviderAssistantPart,
  ProviderFilePart,
  ProviderMessage,
  ProviderOptions,
  ProviderPrompt,
  ProviderToolOutput,
} from '../wire/providers.ts';

export type JsonValue = string | number | boolean | null | readonly JsonValue[] | { readonly [key: string]: JsonValue };

/** A content block of a message row, as stored. Citations and reasoning summaries are for readers, not for the model. */
export type PromptBlock =
  | { readonly type: 'text' | 'refusal' | 'reasoning_summary'; readonly text: string }
  | { readonly type: 'json'; readonly value: unknown }
  | { readonly type: 'citation' }
  /** A file by its name; `withFiles` replaces it with one of the next two. */
  | ({ readonly type: 'attachment' } & AttachmentPart)
  | { readonly type: 'file'; readonly name: string; readonly mediaType: string; readonly data: FileBytes }
  | {
      readonly type: 'file_text';
      readonly name: string;
      readonly mediaType: string;
      readonly attachmentId: string;
      readonly text: string;
    };

/** Bytes in a prompt, which do not appear in any text made from it. */
export class FileBytes {
  readonly bytes: Buffer;

  constructor(bytes: Buffer) {
    this.bytes = bytes;
  }

  toJSON(): string {
    return `[${this.bytes.length} bytes]`;
  }
}

export interface PromptCall {
  /** The provider's id of the call, as stored. */
  readonly id: string;
  readonly slug: string;
  readonly args: Record<string, unknown>;
}

export interface PromptUser {
  readonly role: 'user';
  readonly content: readonly PromptBlock[];
}

export interface PromptAssistant {
  readonly role: 'assistant';
  readonly content: readonly PromptBlock[];
  readonly toolCalls: readonly PromptCall[];
  readonly providerState?: ProviderState | null;
}

export interface PromptToolResult {
  readonly role: 'tool';
  /** The provider's id of the call that this result answers. */
  readonly toolCallId: string;
  readonly slug: string;
  readonly status: 'succeeded' | 'failed' | 'denied' | 'timed_out' | 'cancelled';
  readonly output: unknown;
  readonly error?: { readonly code: string; readonly message: string } | null;
}

/** The history as the platform stores it, oldest first. */
export type PromptMessage = PromptUser | PromptAssistant | PromptToolResult;

export interface PromptTool {
  readonly slug: string;
  readonly description: string;
  /** As the model sees it: without the author's presets. */
  readonly inputSchema: Record<string, unknown>;
  /** For `builtin/extractive`, which calls only read tools; never sent to a provider. */
  readonly effect: 'read' | 'write';
}

export interface ModelSettings {
  readonly temperature: number | null;
  readonly topP: number | null;
  readonly stop: readonly string[];
  readonly seed: number | null;
  readonly reasoning: ReasoningLevel;
  readonly cache: 'auto' | 'off';
  /** Keys as on the wire, from the registry's list for the model. */
  readonly providerOptions: Record<string, unknown>;
}

export const defaultModelSettings: ModelSettings = {
  temperature: null,
  topP: null,
  stop: [],
  seed: null,
  reasoning: 'provider-default',
  cache: 'auto',
  providerOptions: {},
};

/**
 * What a provider wants back within a turn (signatures of thinking, encrypted reasoning), stored beside the message and opaque to all other code. Sent only to
 * the model that produced it; a prompt without it is still valid.
 */
export type ProviderState = {
  readonly model: string;
  readonly parts: readonly ProviderStatePart[];
};

export type ProviderStatePart =
  | { readonly type: 'reasoning'; readonly text: string; readonly options: ProviderOptions | null }
  | { readonly type: 'text'; readonly options: ProviderOptions | null }
  | { readonly type: 'call'; readonly id: string; readonly options: ProviderOptions | null };

export interface PromptSource {
  readonly modelId: string;
  readonly adapter: ModelAdapter;
  readonly instructions: string;
  readonly messages: readonly PromptMessage[];
  readonly cache: 'auto' | 'off';
}

/** Builds the provider's prompt: instructions, then the history. Equal input yields equal output, so a prefix stays cacheable. */
export function toProviderPrompt(source: PromptSource): ProviderPrompt {
  const paired = source.adapter === 'openai_compatible' ? inTurns(pairCalls(source.messages)) : pairCalls(source.messages);
  const turnStart = paired.findLastIndex((message) => message.role === 'user');
  const history = paired.flatMap((message, at) =>
    toProviderMessages(message, { adapter: source.adapter, stateOf: at > turnStart ? source.modelId : null }),
  );
  const system: ProviderMessage[] = source.instructions.trim() === '' ? [] : [{ role: 'system', content: source.instructions }];
  const prompt = [...system, ...history];

  return source.adapter === 'anthropic' && source.cache === 'auto' ? withCacheMarks(prompt) : prompt;
}

/** Merges consecutive user messages: the chat templates of many models refuse a conversation whose roles do not alternate. */
function inTurns(messages: readonly PairedMessage[]): PairedMessage[] {
  const turns: PairedMessage[] = [];
  for (const message of messages) {
    const last = turns.at(-1);
    if (message.role === 'user' && last?.role === 'user')
      turns[turns.length - 1] = { ...last, content: [...last.content, ...message.content] };
    else turns.push(message);
  }
  return turns;
}

/** Marks the ends of the instructions, of the turn's question (stable over its steps) and of the history. */
function withCacheMarks(prompt: ProviderPrompt): ProviderPrompt {
  const ends = new Set([
    prompt.findIndex((message) => message.role === 'system'),
    prompt.findLastIndex((message) => message.role === 'user'),
    prompt.length - 1,
  ]);

  return prompt.map((message, at) =>
    ends.has(at) ? { ...message, providerOptions: { anthropic: { cacheControl: { type: 'ephemeral' } } } } : message,
  );
}

interface MessageTarget {
  readonly adapter: ModelAdapter;
  /** The model that may get its own state back; null: no model. */
  readonly stateOf: string | null;
}

function toProviderMessages(message: PairedMessage, { adapter, stateOf }: MessageTarget): ProviderMessage[] {
  if (message.role === 'user') {
    const text = textOf(message.content).join('\n\n');
    const files = message.content.flatMap((block) => (block.type === 'file' ? [toFilePart(block)] : []));
    if (text === '' && files.length === 0) return [];
    return [{ role: 'user', content: [...(text === '' ? [] : [{ type: 'text' as const, text }]), ...files] }];
  }

  const content = assistantParts(message, stateOf);
  if (content.length === 0) return [];
  if (message.toolCalls.length === 0) return [{ role: 'assistant', content }];

  return [
    { role: 'assistant', content },
    {
      role: 'tool',
      content: message.results.map((result) => ({
        type: 'tool-result',
        toolCallId: result.toolCallId,
        toolName: result.slug,
        output: toolOutput(result, adapter),
      })),
    },
  ];
}

/** Without a state: texts, then calls. With a state of this model: its order, and the parts that it wants back. */
function assistantParts(message: Extract<PairedMessage, { role: 'assistant' }>, stateOf: string | null): ProviderAssistantPart[] {
  const texts = textOf(message.content);
  const calls = new Map(message.toolCalls.map((call) => [call.originalId, call]));
  const parts: ProviderAssistantPart[] = [];
  const state = message.providerState?.model === stateOf ? message.providerState : null;

  for (const part of state?.parts ?? []) {
    const options = part.options ? { providerOptions: part.options } : {};
    if (part.type === 'reasoning') parts.push({ type: 'reasoning', text: part.text, ...options });
    if (part.type === 'text') pushText(parts, texts.shift(), options);
    if (part.type === 'call') {
      const call = calls.get(part.id);
      if (call) parts.push({ type: 'tool-call', toolCallId: call.id, toolName: call.slug, input: call.args, ...options });
      calls.delete(part.id);
    }
  }

  pushText(parts, texts.join('\n\n'), {});
  for (const call of calls.values()) parts.push({ type: 'tool-call', toolCallId: call.id, toolName: call.slug, input: call.args });
  return parts;
}

function pushText(parts: ProviderAssistantPart[], text: string | undefined, options: { providerOptions?: ProviderOptions }): void {
  if (text !== undefined && text.trim() !== '') parts.push({ type: 'text', text, ...options });
}

function textOf(content: readonly PromptBlock[]): string[] {
  return content.flatMap((block) => {
    if (block.type === 'text' || block.type === 'refusal') return [block.text];
    if (block.type === 'json') return [JSON.stringify(block.value)];
    if (block.type === 'file_text') return [fileText(block)];
    return [];
  });
}

function toFilePart({ name, mediaType, data }: Extract<PromptBlock, { type: 'file' }>): ProviderFilePart {
  return { type: 'file', filename: name, mediaType, data: { type: 'data', data: data.bytes } };
}

/**
 * Wraps the file in tags that say what it is: a model must be able to tell a file from what its user says, so the file's text never contains the closing tag.
 */
function fileText({ name, mediaType, attachmentId, text }: Extract<PromptBlock, { type: 'file_text' }>): string {
  return `<attachment id="${attachmentId}" name=${JSON.stringify(name)} type="${mediaType}">\n${text.replaceAll(/<\/(?=attachment)/gi, '<\\/')}\n</attachment>`;
}

/** A failure has one fixed shape, whatever its kind, so that a model can read it and a cache finds it again. */
function toolOutput(result: PromptToolResult, adapter: ModelAdapter): ProviderToolOutput {
  if (result.status === 'succeeded')
    return typeof result.output === 'string' ? { type: 'text', value: result.output } : { type: 'json', value: plainJson(result.output) };

  const told = { status: result.status, ...(result.error ? { error: { code: result.error.code, message: result.error.message } } : {}) };
  const output = result.output === null || result.output === undefined || result.output === '' ? {} : { output: result.output };
  // Responses has no failure flag; the SDK would wrap our JSON as a text in JSON of its own.
  return { type: adapter === 'openai' ? 'text' : 'error-text', value: JSON.stringify({ ...told, ...output }) };
}

/** A value from a JSON column is JSON; undefined is sent as null. */
function plainJson(value: unknown) {
  return (value ?? null) as Extract<ProviderToolOutput, { type: 'json' }>['value']; // see above
}
