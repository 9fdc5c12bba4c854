import { contentAttribute } from '../../../ports/telemetry/conventions.ts';
import type { CollectedStep } from '../collect-step.ts';
import type { PromptBlock, PromptMessage } from '../prompt/prompt.ts';
import type { ModelFinish, ModelStepRequest } from '../step.ts';

/** Part of a message by the JSON schemas of the GenAI conventions (gen-ai-input-messages, gen-ai-output-messages). */
export type MessagePart = { readonly type: string } & Readonly<Record<string, unknown>>;

/** Returns what a model was asked and what it answered, by attribute. */
export function chatContent(
  { instructions, messages }: ModelStepRequest,
  { stopReason }: ModelFinish,
  said: readonly MessagePart[],
): Record<string, unknown> {
  return {
    [contentAttribute.systemInstructions]: [textPart(instructions)],
    [contentAttribute.inputMessages]: messages.map((message) => ({ role: message.role, parts: partsOf(message) })),
    [contentAttribute.outputMessages]: [{ role: 'assistant', parts: said, finish_reason: stopReason }],
  };
}

/** Returns the parts of a model's answer in a run. */
export function partsOfStep({ content, calls, result }: CollectedStep): MessagePart[] {
  return [
    ...content.flatMap((block) => (block.type === 'attachment' || block.type === 'citation' ? [] : partOf(block))),
    ...calls.map(({ providerCallId, slug, args, argsText }) => callPart(providerCallId, slug, args ?? argsText)),
    ...(result === null ? [] : [jsonPart(result.args ?? result.argsText)]),
  ];
}

/** A value that a model has answered, or was given, as JSON. */
export function jsonPart(value: unknown): MessagePart {
  return { type: 'json', content: value };
}

function textPart(content: string): MessagePart {
  return { type: 'text', content };
}

function callPart(id: string, name: string, args: unknown): MessagePart {
  return { type: 'tool_call', id, name, arguments: args };
}

function partsOf(message: PromptMessage): MessagePart[] {
  switch (message.role) {
    case 'user':
      return message.content.flatMap(partOf);
    case 'assistant':
      return [...message.content.flatMap(partOf), ...message.toolCalls.map(({ id, slug, args }) => callPart(id, slug, args))];
    case 'tool':
      return [{ type: 'tool_call_response', id: message.toolCallId, response: message.error ?? message.output }];
    default:
      return message satisfies never;
  }
}

/** Files by their names and media types only; citations repeat what is in the prompt. */
function partOf(block: PromptBlock): MessagePart[] {
  switch (block.type) {
    case 'text':
    case 'refusal':
    case 'file_text':
      return [textPart(block.text)];
    case 'reasoning_summary':
      return [{ type: 'reasoning', content: block.text }];
    case 'json':
      return [jsonPart(block.value)];
    case 'file':
      return [{ type: 'file', mime_type: block.mediaType, file_name: block.name }];
    case 'attachment':
      return [{ type: 'file', mime_type: block.media_type, file_name: block.name }];
    case 'citation':
      return [];
    default:
      return block satisfies never;
  }
}
