import type { PromptMessage, PromptTool } from './prompt.ts';

/** Tokens of one model call in disjoint buckets; `estimated` when the provider told none or the answer broke off. */
export interface TokenUsage {
  readonly input: number;
  readonly cachedRead: number;
  readonly cachedWrite: number;
  readonly output: number;
  readonly reasoning: number;
  readonly estimated: boolean;
}

/** What a provider adapter reports, as far as it does (provider specification v4). */
export interface ReportedUsage {
  readonly inputTokens: { readonly total?: number; readonly noCache?: number; readonly cacheRead?: number; readonly cacheWrite?: number };
  readonly outputTokens: { readonly total?: number; readonly text?: number; readonly reasoning?: number };
}

export interface PromptToCount {
  readonly instructions: string;
  readonly messages: readonly PromptMessage[];
  readonly tools: readonly PromptTool[];
}

export const noUsage: TokenUsage = { input: 0, cachedRead: 0, cachedWrite: 0, output: 0, reasoning: 0, estimated: false };

/** Tokens of a text by its UTF-8 length: four bytes each, the long-run mean of common tokenizers. */
export function estimateTokens(text: string): number {
  return Math.ceil(Buffer.byteLength(text) / 4);
}

/** What a call with this prompt and this answer took, without a word from the provider. */
export function estimateUsage(prompt: PromptToCount, outputText: string): TokenUsage {
  return { ...noUsage, input: countPrompt(prompt), output: estimateTokens(outputText), estimated: true };
}

/** Tokens of everything that a request carries: instructions, messages, tool descriptions. */
export function countPrompt(prompt: PromptToCount): number {
  const messages = prompt.messages.reduce((sum, message) => sum + estimateTokens(JSON.stringify(message)), 0);
  const tools = prompt.tools.reduce(
    (sum, tool) => sum + estimateTokens(tool.slug + tool.description + JSON.stringify(tool.inputSchema)),
    0,
  );

  return estimateTokens(prompt.instructions) + messages + tools;
}

export interface UsageFacts {
  /** False when the provider counts reasoning beside its output tokens, not inside them. */
  readonly reasoningInOutput: boolean;
  readonly prompt: PromptToCount;
  /** Everything that was generated, to estimate by when the provider told nothing. */
  readonly outputText: string;
}

/**
 * Splits the reported counts into the disjoint buckets of the ledger. A side that is missing, or zero though something
 * was sent or generated, is estimated, and the whole is marked so.
 */
export function bucketUsage(reported: ReportedUsage, facts: UsageFacts): TokenUsage {
  const { inputTokens, outputTokens } = reported;
  const cachedRead = count(inputTokens.cacheRead);
  const cachedWrite = count(inputTokens.cacheWrite);
  const reasoning = count(outputTokens.reasoning);
  const input = count(inputTokens.noCache ?? count(inputTokens.total) - cachedRead - cachedWrite);
  const output = facts.reasoningInOutput ? count(outputTokens.text ?? count(outputTokens.total) - reasoning) : count(outputTokens.total);

  const isInputKnown = input + cachedRead + cachedWrite > 0;
  const isOutputKnown = output + reasoning > 0 || facts.outputText === '';
  if (isInputKnown && isOutputKnown) return { input, cachedRead, cachedWrite, output, reasoning, estimated: false };

  return {
    input: isInputKnown ? input : countPrompt(facts.prompt),
    cachedRead,
    cachedWrite,
    output: isOutputKnown ? output : estimateTokens(facts.outputText),
    reasoning,
    estimated: true,
  };
}

/** Providers have sent null, fractions and negative numbers here. */
function count(value: number | undefined): number {
  return value !== undefined && Number.isFinite(value) && value > 0 ? Math.round(value) : 0;
}
