import { record } from '../wire/provider-message.ts';

/** What a provider counted, under its own names; zero where it reported nothing. Which counts include which is not known yet. */
export interface UsageCounts {
  readonly prompt: number;
  readonly completion: number;
  readonly cachedRead: number;
  readonly cachedWrite: number;
  readonly reasoning: number;
  /** Everything that is billed; 0: not reported. */
  readonly total: number;
  /** Whether cached tokens are counted beside the prompt's, as Anthropic and Bedrock do. Where `total` says otherwise, `total` decides. */
  readonly isCacheBeside: boolean;
}

/** Tokens in disjoint parts. */
export interface UsageParts {
  readonly input: number;
  readonly cachedRead: number;
  readonly cachedWrite: number;
  readonly output: number;
  readonly reasoning: number;
}

type Path = readonly string[];

/** Where servers put each count, the most common first; `docs/model-providers.md` names which server does what. */
const paths = {
  prompt: [['prompt_tokens'], ['input_tokens'], ['inputTokens']],
  completion: [['completion_tokens'], ['output_tokens'], ['outputTokens']],
  cachedRead: [
    ['prompt_tokens_details', 'cached_tokens'],
    ['input_tokens_details', 'cached_tokens'],
    ['prompt_token_details', 'cached_tokens'],
    ['prompt_cache_hit_tokens'],
    ['cache_read_input_tokens'],
    ['cached_tokens'],
    ['num_cached_tokens'],
    ['cacheReadInputTokens'],
  ],
  cachedWrite: [
    ['prompt_tokens_details', 'cache_write_tokens'],
    ['input_tokens_details', 'cache_write_tokens'],
    ['prompt_tokens_details', 'cache_creation_tokens'],
    ['cache_creation_input_tokens'],
    ['cacheWriteInputTokens'],
  ],
  reasoning: [['completion_tokens_details', 'reasoning_tokens'], ['output_tokens_details', 'reasoning_tokens'], ['reasoning_tokens']],
  total: [['total_tokens'], ['totalTokens']],
} as const satisfies Readonly<Record<string, readonly Path[]>>;

/** Returns the counts of a `usage` from a server that speaks Chat Completions or Responses; null where it reports none. */
export function countsIn(usage: unknown): UsageCounts | null {
  const found = (name: keyof typeof paths) => paths[name].map((path: Path) => tokensAt(usage, path)).find((tokens) => tokens > 0) ?? 0;
  const counts = {
    prompt: found('prompt'),
    completion: found('completion'),
    cachedRead: found('cachedRead'),
    cachedWrite: found('cachedWrite'),
    reasoning: found('reasoning'),
    total: found('total'),
    isCacheBeside: tokensAt(usage, ['prompt_tokens']) === 0 && cacheWordsOfMessages.some((name) => tokensAt(usage, [name]) > 0),
  };
  return counts.prompt + counts.completion + counts.cachedRead + counts.cachedWrite + counts.reasoning > 0 ? counts : null;
}

const cacheWordsOfMessages = ['cache_read_input_tokens', 'cache_creation_input_tokens', 'cacheReadInputTokens', 'cacheWriteInputTokens'];

type Beside = readonly ('cachedRead' | 'cachedWrite' | 'reasoning')[];

/** What may be counted beside prompt and completion, in order of preference where the total fits several. */
const ways: readonly Beside[] = [
  [],
  ['reasoning'],
  ['cachedRead', 'cachedWrite'],
  ['cachedWrite'],
  ['cachedRead'],
  ['cachedRead', 'cachedWrite', 'reasoning'],
  ['cachedWrite', 'reasoning'],
  ['cachedRead', 'reasoning'],
];

/**
 * Makes disjoint parts of counts that may include each other. A part greater than its whole is counted beside it; otherwise the total decides, where it fits
 * one way of counting; otherwise cached tokens are inside the prompt and reasoning is inside the completion, unless it is known otherwise. What a total has
 * beyond all reported counts is reasoning that was not shown (Gemini).
 *
 * @param reasoningBeside The deployment's registry says that this model's reasoning is counted beside its completion, whatever the total is.
 */
export function disjoint(counts: UsageCounts, reasoningBeside: boolean): UsageParts {
  const possible = ways.filter(
    (beside) => fits(counts, beside) && (!reasoningBeside || counts.reasoning === 0 || beside.includes('reasoning')),
  );
  const cacheFirst = counts.isCacheBeside
    ? possible.filter((beside) => beside.includes('cachedRead') && beside.includes('cachedWrite'))
    : [];
  const assumed = [...cacheFirst, ...possible][0] ?? ['cachedRead', 'cachedWrite', 'reasoning'];
  const told = counts.total === 0 ? undefined : possible.find((beside) => sumOf(counts, beside) === counts.total);
  const beside = told ?? assumed;

  const inside = (name: Beside[number]) => (beside.includes(name) ? 0 : counts[name]);
  const unexplained = counts.reasoning === 0 && told === undefined ? Math.max(0, counts.total - sumOf(counts, beside)) : 0;
  return {
    input: counts.prompt - inside('cachedRead') - inside('cachedWrite'),
    cachedRead: counts.cachedRead,
    cachedWrite: counts.cachedWrite,
    output: counts.completion - inside('reasoning'),
    reasoning: counts.reasoning + unexplained,
  };
}

function fits(counts: UsageCounts, beside: Beside): boolean {
  const inside = (name: Beside[number]) => (beside.includes(name) ? 0 : counts[name]);
  return inside('cachedRead') + inside('cachedWrite') <= counts.prompt && inside('reasoning') <= counts.completion;
}

function sumOf(counts: UsageCounts, beside: Beside): number {
  return beside.reduce((sum, name) => sum + counts[name], counts.prompt + counts.completion);
}

function tokensAt(usage: unknown, path: Path): number {
  return tokens(path.reduce<unknown>((at, key) => record(at)?.[key], usage));
}

/** Servers have sent null, texts, fractions and negative numbers as counts. */
export function tokens(value: unknown): number {
  const number = typeof value === 'string' ? Number(value) : value;
  return typeof number === 'number' && Number.isFinite(number) && number > 0 ? Math.round(number) : 0;
}
