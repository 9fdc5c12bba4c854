import type { ModelUsage } from '../../../db/billing/ledger/usage.ts';
import { tokensOfBytes } from '../../../db/billing/ledger/call-key.ts';
import type { ModelAdapter } from '../../../ports/models/models.ts';
import type { PromptMessage, PromptTool } from '../prompt/prompt.ts';
import { countsIn, disjoint, tokens, type UsageCounts } from './usage-counts.ts';

/** Tokens of one model call in disjoint buckets; `estimated` when the provider reported none or the answer broke off. */
export interface TokenUsage {
  readonly input: number;
  readonly cachedRead: number;
  readonly cachedWrite: number;
  readonly output: number;
  readonly reasoning: number;
  readonly estimated: boolean;
}

/** The same buckets as the ledger names them. */
export function ledgerTokens({ input, output, cachedRead, cachedWrite, reasoning }: TokenUsage): ModelUsage['tokens'] {
  return { input, output, cached_read: cachedRead, cached_write: cachedWrite, reasoning };
}

/** What a provider adapter reports, as far as it does (provider specification v4). */
export interface ReportedUsage {
  readonly inputTokens: { readonly total?: number; readonly noCache?: number; readonly cacheRead?: number; readonly cacheWrite?: number };
  readonly outputTokens: { readonly total?: number; readonly text?: number; readonly reasoning?: number };
  /** As the server sent it. */
  readonly raw?: unknown;
}

export interface PromptToCount {
  readonly instructions: string;
  readonly messages: readonly PromptMessage[];
  readonly tools: readonly PromptTool[];
}

export const noUsage: TokenUsage = { input: 0, cachedRead: 0, cachedWrite: 0, output: 0, reasoning: 0, estimated: false };

/** Estimates the tokens of a text by its UTF-8 length. */
export function estimateTokens(text: string): number {
  return tokensOfBytes(Buffer.byteLength(text));
}

/** Estimates the tokens of a call with this prompt and this answer, without counts from the provider. */
export function estimateUsage(prompt: PromptToCount, outputText: string): TokenUsage {
  return { ...noUsage, input: countPrompt(prompt), output: estimateTokens(outputText), estimated: true };
}

/** Estimates the tokens of everything that a request carries: instructions, messages, tool descriptions. */
export function countPrompt(prompt: PromptToCount): number {
  const messages = prompt.messages.reduce((sum, message) => sum + estimateTokens(JSON.stringify(message)), 0);
  const tools = prompt.tools.reduce(
    (sum, tool) => sum + estimateTokens(tool.slug + tool.description + JSON.stringify(tool.inputSchema)),
    0,
  );

  return estimateTokens(prompt.instructions) + messages + tools;
}

export interface UsageFacts {
  readonly adapter: ModelAdapter;
  /** False when the registry says that the provider counts reasoning beside its output tokens, not inside them. */
  readonly reasoningInOutput: boolean;
  readonly prompt: PromptToCount;
  /** All generated text, the basis of the estimate when the provider reported nothing. */
  readonly outputText: string;
  /** All of that except the reasoning. */
  readonly spokenText: string;
}

/**
 * Splits the reported counts into the disjoint buckets of the ledger; their sum is what the provider counted, however it nests its counts. A side that is
 * missing, or zero although something was sent or generated, is estimated, and the whole is marked as estimated.
 */
export function bucketUsage(reported: ReportedUsage, facts: UsageFacts): TokenUsage {
  const counts = (facts.adapter === 'anthropic' ? null : countsIn(reported.raw)) ?? countsOf(reported);
  const parts = disjoint(counts, !facts.reasoningInOutput);

  const isInputKnown = parts.input + parts.cachedRead + parts.cachedWrite > 0;
  const input = isInputKnown ? parts.input : countPrompt(facts.prompt);
  const isOutputKnown = parts.output > 0 || facts.spokenText === '';
  if (isOutputKnown && (parts.output + parts.reasoning > 0 || facts.outputText === ''))
    return { ...parts, input, estimated: !isInputKnown };
  if (parts.reasoning === 0) return { ...parts, input, output: estimateTokens(facts.outputText), estimated: true };
  // All of it was reported as reasoning, although text arrived: the sum is the provider's, its split is estimated.
  const output = Math.min(parts.reasoning, estimateTokens(facts.spokenText));
  return { ...parts, input, output, reasoning: parts.reasoning - output, estimated: true };
}

/** Returns the counts of an adapter, which are disjoint on the input side. */
function countsOf({ inputTokens, outputTokens }: ReportedUsage): UsageCounts {
  const cachedRead = tokens(inputTokens.cacheRead);
  const cachedWrite = tokens(inputTokens.cacheWrite);
  return {
    prompt: tokens(inputTokens.noCache ?? tokens(inputTokens.total) - cachedRead - cachedWrite),
    completion: tokens(outputTokens.total),
    cachedRead,
    cachedWrite,
    reasoning: tokens(outputTokens.reasoning),
    total: 0,
    isCacheBeside: true,
  };
}
