import type { ModelAdapter } from '../../../ports/models/models.ts';
import { sse } from './stream-shapes.ts';

/** What a server counted for one answer, as it was seen, and what the ledger books of it. */
export interface UsageShape {
  readonly server: string;
  /** Where it was told of; `constructed` where only the shape is known. */
  readonly seen: string;
  readonly adapter: ModelAdapter;
  readonly usage: Readonly<Record<string, unknown>>;
  /** Input, cached read, cached write, output, reasoning. Their sum is what was billed. */
  readonly books: readonly [number, number, number, number, number];
  /** The answer has words; else reasoning alone. True unless said otherwise. */
  readonly isSpoken?: boolean;
  /** The sum is the server's, its split an estimate. */
  readonly isEstimated?: true;
}

type Row = [server: string, seen: string, usage: Readonly<Record<string, unknown>>, books: UsageShape['books'], more?: Partial<UsageShape>];
const rowsOf = (adapter: ModelAdapter, rows: readonly Row[]): UsageShape[] =>
  rows.map(([server, seen, usage, books, more = {}]) => ({ server, seen, adapter, usage, books, ...more }));

const chat = (prompt: number, completion: number, total: number | null, more: object = {}) => ({
  prompt_tokens: prompt,
  completion_tokens: completion,
  ...(total === null ? {} : { total_tokens: total }),
  ...more,
});
const cached = (tokens: number, more: object = {}) => ({ prompt_tokens_details: { cached_tokens: tokens, ...more } });
const thought = (tokens: number) => ({ completion_tokens_details: { reasoning_tokens: tokens } });

/** One row a way of counting that some server has. */
export const usageShapes: readonly UsageShape[] = [
  ...rowsOf('openai_compatible', [
    ['OpenAI', 'vercel/ai#11178', chat(2_593, 1, 2_594, cached(2_560)), [33, 2_560, 0, 1, 0]],
    ['OpenAI, with reasoning', 'OpenAI on reasoning models: from memory', chat(75, 1_186, 1_261, thought(1_024)), [75, 0, 0, 162, 1_024]],
    [
      'Azure',
      'the shape of OpenAI: AbanteAI/archive-old-cli-mentat#429',
      chat(2_006, 300, 2_306, { ...cached(1_920), ...thought(0) }),
      [86, 1_920, 0, 300, 0],
    ],
    [
      'OpenRouter, cache read',
      'prism-php/prism#992',
      chat(10_339, 60, 10_399, cached(10_318, { cache_write_tokens: 0 })),
      [21, 10_318, 0, 60, 0],
    ],
    [
      'OpenRouter, cache written',
      'aaif-goose/goose#11472',
      chat(25_612, 9, 25_621, cached(0, { cache_write_tokens: 25_600 })),
      [12, 0, 25_600, 9, 0],
    ],
    [
      'DeepSeek',
      'fields of ds-api 0.10.7, prism-php/prism#1021; numbers constructed',
      chat(1_300, 420, 1_720, { prompt_cache_hit_tokens: 1_280, prompt_cache_miss_tokens: 20, ...thought(300) }),
      [20, 1_280, 0, 120, 300],
    ],
    [
      'xAI, reasoning beside',
      'Wei-Shaw/sub2api#5771',
      chat(10_120, 1_499, 14_428, { ...cached(128), ...thought(2_809) }),
      [9_992, 128, 0, 1_499, 2_809],
    ],
    ['xAI, reasoning beside and shorter', 'vercel/ai#12425', chat(12, 1, 399, thought(386)), [12, 0, 0, 1, 386]],
    ['xAI, less reasoning than answer', 'numbers constructed', chat(279, 200, 568, thought(89)), [279, 0, 0, 200, 89]],
    ['xAI, reasoning beside, without a total', 'vercel/ai#12425', chat(12, 2, null, thought(317)), [12, 0, 0, 2, 317]],
    ['xAI, cached tokens beside', 'vercel/ai#12485', chat(4_142, 20, null, cached(4_328)), [4_142, 4_328, 0, 20, 0]],
    ['Gemini, thoughts in the total alone', 'discuss.ai.google.dev/t/127400', chat(9, 3, 105), [9, 0, 0, 3, 93]],
    ['Gemini, through a proxy that leaves thoughts out', 'mozilla-ai/any-llm#1290', chat(20, 198, 623), [20, 0, 0, 198, 405]],
    ['Gemini, thoughts alone', 'router-for-me/CLIProxyAPI#5733', chat(21, 0, 81, thought(60)), [21, 0, 0, 0, 60], { isSpoken: false }],
    ['Groq', 'mozilla-ai/any-llm#793', chat(4_641, 1_817, 6_458, cached(4_608)), [33, 4_608, 0, 1_817, 0]],
    ['Mistral', 'mistralai/client-ts#240', chat(1_013, 30, 1_043, cached(1_008)), [5, 1_008, 0, 30, 0]],
    [
      'Mistral, other words',
      'vercel/ai#14889',
      chat(1_013, 30, 1_043, { num_cached_tokens: 1_008, prompt_token_details: { cached_tokens: 1_008 } }),
      [5, 1_008, 0, 30, 0],
    ],
    ['Moonshot', 'from memory', chat(1_100, 50, 1_150, { cached_tokens: 1_024 }), [76, 1_024, 0, 50, 0]],
    ['vLLM', 'vllm-project/vllm-omni#2313', chat(33, 128, 161, { prompt_tokens_details: null }), [33, 0, 0, 128, 0]],
    [
      'SGLang, cached tokens',
      'ai-dynamo/dynamo#10925',
      chat(516, 4, 520, { prompt_tokens_details: { audio_tokens: null, cached_tokens: 512 } }),
      [4, 512, 0, 4, 0],
    ],
    [
      'SGLang, reasoning at the top',
      'sgl-project/sglang#17156',
      chat(29, 105, 134, { prompt_tokens_details: null, reasoning_tokens: 80 }),
      [29, 0, 0, 25, 80],
    ],
    ['llama.cpp', 'ggml-org/llama.cpp#15827 (timings), without a cache in `usage`', chat(237, 35, 272), [237, 0, 0, 35, 0]],
    [
      'Perplexity, reasoning beside and outside of the total',
      'its documentation: from memory; convert-perplexity-usage.ts of @ai-sdk/perplexity',
      chat(33, 7_163, 7_196, { reasoning_tokens: 73_997, citation_tokens: 19_061 }),
      [33, 0, 0, 7_163, 73_997],
    ],
    [
      'Bedrock through Portkey, cached tokens beside',
      'Portkey-AI/gateway#1211',
      chat(368, 19, 10_923, { cache_read_input_tokens: 10_536, cache_creation_input_tokens: 0 }),
      [368, 10_536, 0, 19, 0],
    ],
    [
      'Bedrock through Portkey, fewer cached than new',
      'numbers constructed',
      chat(500, 19, 619, { cache_read_input_tokens: 100 }),
      [500, 100, 0, 19, 0],
    ],
    [
      'Bedrock, its own words',
      'Portkey-AI/gateway#1211',
      { inputTokens: 368, outputTokens: 19, totalTokens: 10_923, cacheReadInputTokens: 10_536, cacheWriteInputTokens: 0 },
      [368, 10_536, 0, 19, 0],
    ],
    [
      'Bedrock, its own words without a total',
      'librefang/librefang#5879',
      { inputTokens: 500, outputTokens: 19, cacheReadInputTokens: 100, cacheWriteInputTokens: 40 },
      [500, 100, 40, 19, 0],
    ],
    [
      'LiteLLM, cached tokens inside',
      'litellm.vercel.app/docs/completion/prompt_caching',
      chat(2_006, 300, 2_306, { ...cached(1_920), cache_creation_input_tokens: 0, cache_read_input_tokens: 1_920 }),
      [86, 1_920, 0, 300, 0],
    ],
    ['a gateway, cache writes beside', 'laravel/ai#924', chat(100, 20, 620, cached(60, { cache_write_tokens: 500 })), [40, 60, 500, 20, 0]],
    ['a gateway, both beside', 'constructed', chat(10, 5, 165, { ...cached(100), ...thought(50) }), [10, 100, 0, 5, 50]],
    [
      'a gateway with empty twins',
      'api.chatfire.cn/docs/275472326e0',
      chat(8, 492, 500, { ...thought(482), input_tokens: 0, output_tokens: 0 }),
      [8, 0, 0, 10, 482],
    ],
    [
      'all of it told as reasoning, though words came',
      'constructed',
      chat(10, 40, 50, thought(40)),
      [10, 0, 0, 2, 38],
      { isEstimated: true },
    ],
    [
      'nulls, texts and negative numbers',
      'constructed',
      chat(7, 2, null, { total_tokens: '-1', ...cached(-5), completion_tokens_details: { reasoning_tokens: null } }),
      [7, 0, 0, 2, 0],
    ],
  ]),
  ...rowsOf('openai', [
    [
      'OpenAI Responses',
      'charmbracelet/fantasy#331',
      {
        input_tokens: 3_438,
        input_tokens_details: { cached_tokens: 3_423, cache_write_tokens: 12 },
        output_tokens: 9,
        total_tokens: 3_447,
      },
      [3, 3_423, 12, 9, 0],
    ],
    [
      'OpenAI Responses, with reasoning',
      'PixelPaw-Labs/codex-trace#154',
      {
        input_tokens: 26_701,
        input_tokens_details: { cached_tokens: 2_048 },
        output_tokens: 283,
        output_tokens_details: { reasoning_tokens: 211 },
        total_tokens: 26_984,
      },
      [24_653, 2_048, 0, 72, 211],
    ],
    [
      'xAI Responses, cached tokens beside',
      'vercel/ai#12485',
      { input_tokens: 4_142, input_tokens_details: { cached_tokens: 4_328 }, output_tokens: 20, total_tokens: 8_490 },
      [4_142, 4_328, 0, 20, 0],
    ],
    [
      'xAI Responses',
      'docs.x.ai/developers/advanced-api-usage/prompt-caching',
      {
        input_tokens: 125,
        input_tokens_details: { cached_tokens: 98 },
        output_tokens: 48,
        output_tokens_details: { reasoning_tokens: 0 },
        total_tokens: 173,
      },
      [27, 98, 0, 48, 0],
    ],
  ]),
  ...rowsOf('anthropic', [
    [
      'Anthropic',
      'convert-anthropic-usage.ts of @ai-sdk/anthropic',
      { input_tokens: 50, cache_read_input_tokens: 100_000, cache_creation_input_tokens: 200, output_tokens: 503 },
      [50, 100_000, 200, 503, 0],
    ],
    [
      'Anthropic, with thinking',
      'convert-anthropic-usage.ts of @ai-sdk/anthropic',
      { input_tokens: 50, output_tokens: 503, output_tokens_details: { thinking_tokens: 400 } },
      [50, 0, 0, 103, 400],
    ],
    [
      'Moonshot and others that speak Messages',
      'sgl-project/sglang#20754',
      { input_tokens: 20, cache_read_input_tokens: null, output_tokens: 8 },
      [20, 0, 0, 8, 0],
    ],
  ]),
];

const words = 'Hello';

/** The stream of an answer that ends with these counts. */
export function streamOf({ adapter, usage, isSpoken = true }: UsageShape): string {
  if (adapter === 'openai_compatible') {
    const delta = isSpoken ? { content: words } : { reasoning_content: words };
    const chunks = [
      { choices: [{ index: 0, delta }] },
      { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] },
      { choices: [], usage },
    ];
    return sse(...chunks, '[DONE]');
  }
  if (adapter === 'openai') {
    const item = { type: 'message', id: 'i1', role: 'assistant', content: [] };
    return sse(
      { type: 'response.created', response: { id: 'r1', created_at: 1_760_000_000, model: 'm' } },
      { type: 'response.output_item.added', output_index: 0, item },
      { type: 'response.output_text.delta', item_id: 'i1', output_index: 0, delta: words },
      { type: 'response.output_item.done', output_index: 0, item },
      { type: 'response.completed', response: { usage } },
    );
  }
  const { output_tokens, output_tokens_details, ...input } = usage;
  const message = {
    id: 'm1',
    type: 'message',
    role: 'assistant',
    model: 'm',
    content: [],
    stop_reason: null,
    usage: { ...input, output_tokens: 1 },
  };
  return sse(
    { type: 'message_start', message },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: words } },
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens, output_tokens_details } },
    { type: 'message_stop' },
  );
}
