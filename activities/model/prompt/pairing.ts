import type { PromptAssistant, PromptCall, PromptMessage, PromptToolResult, PromptUser } from './prompt.ts';

export interface PairedCall extends PromptCall {
  /** The id before it was changed to suit every provider. */
  readonly originalId: string;
}

/** An assistant message with exactly one result for each of its calls, in the order of the calls. */
export interface PairedAssistant extends Omit<PromptAssistant, 'toolCalls'> {
  readonly toolCalls: readonly PairedCall[];
  readonly results: readonly PromptToolResult[];
}

export type PairedMessage = PromptUser | PairedAssistant;

/**
 * Makes a history that every provider accepts: a call without a result gets a cancelled one, a result without a call is dropped, ids are unique and hold only
 * letters, digits, `_` and `-`, at most 64 characters.
 */
export function pairCalls(messages: readonly PromptMessage[]): PairedMessage[] {
  const paired: PairedMessage[] = [];
  const usedIds = new Set<string>();

  messages.forEach((message, at) => {
    if (message.role === 'user') paired.push(message);
    if (message.role !== 'assistant') return;

    const results = resultsAfter(messages, at);
    const toolCalls = message.toolCalls.map((call) => ({ ...call, originalId: call.id, id: uniqueId(call.id, usedIds) }));
    paired.push({
      ...message,
      toolCalls,
      results: toolCalls.map((call) => ({ ...(results.get(call.originalId) ?? noResult(call)), toolCallId: call.id })),
    });
  });

  return paired;
}

function resultsAfter(messages: readonly PromptMessage[], assistantAt: number): Map<string, PromptToolResult> {
  const results = new Map<string, PromptToolResult>();
  for (const message of messages.slice(assistantAt + 1)) {
    if (message.role === 'assistant') break;
    if (message.role === 'tool') results.set(message.toolCallId, message);
  }

  return results;
}

function noResult(call: PromptCall): PromptToolResult {
  return { role: 'tool', toolCallId: call.id, slug: call.slug, status: 'cancelled', output: null, error: null };
}

function uniqueId(id: string, usedIds: Set<string>): string {
  const base = id.replaceAll(/[^a-zA-Z0-9_-]/g, '_').slice(0, 56) || 'call';
  let candidate = base;
  for (let n = 2; usedIds.has(candidate); n++) candidate = `${base}_${n}`;
  usedIds.add(candidate);

  return candidate;
}
