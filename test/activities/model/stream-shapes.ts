import type { RawAnswer } from '../../fakes/model-raw.ts';

/** What must come of an answer. */
export interface ShapeOutcome {
  readonly text?: string;
  readonly reasoning?: string;
  readonly calls?: readonly { readonly slug: string; readonly args: Record<string, unknown> | null }[];
  readonly stopReason?: 'stop' | 'tool_calls' | 'max_output';
  /** Tokens of input and output as the provider counts them; null: an estimate. */
  readonly usage?: readonly [number, number] | null;
  readonly warned?: true;
  /** The class of the error instead, and what its message must hold. */
  readonly error?: { readonly class: string; readonly retryable: boolean; readonly says: string };
}

/** One shape of a stream that some server has been seen to send. */
export interface StreamShape {
  readonly name: string;
  /** Who sends it; where it was told of. */
  readonly seen: string;
  readonly raw: RawAnswer;
  readonly outcome: ShapeOutcome;
}

export const sse = (...events: readonly (object | string)[]): string =>
  events.map((event) => `data: ${typeof event === 'string' ? event : JSON.stringify(event)}\n\n`).join('');
const chunk = (delta: object, more: object = {}) => ({
  id: 'c1',
  object: 'chat.completion.chunk',
  created: 1_760_000_000,
  model: 'm',
  choices: [{ index: 0, delta, finish_reason: null }],
  ...more,
});
const end = (reason: string | null, more: object = {}) => ({
  id: 'c1',
  created: 1_760_000_000,
  model: 'm',
  choices: [{ index: 0, delta: {}, finish_reason: reason }],
  ...more,
});
const hello = chunk({ role: 'assistant', content: 'Hello' });
const stop = end('stop');
const tokens = { prompt_tokens: 7, completion_tokens: 2, total_tokens: 9 };
const usage = { id: 'c1', created: 1_760_000_000, model: 'm', choices: [], usage: tokens };
const call = (fields: object) => chunk({ tool_calls: [fields] });
const whole = { text: 'Hello', stopReason: 'stop' } as const;
const told = { ...whole, usage: [7, 2] } as const;
const untold = { ...whole, usage: null } as const;
const called = { calls: [{ slug: 'look_up', args: { word: 'sun' } }], stopReason: 'tool_calls' } as const;

const unnamed = { ...called, calls: [{ slug: '_unnamed', args: { word: 'sun' } }] } as const;

const shape = (name: string, seen: string, raw: string | RawAnswer, outcome: ShapeOutcome): StreamShape => ({
  name,
  seen,
  raw: typeof raw === 'string' ? { body: raw } : raw,
  outcome,
});

/** How streams end. */
export const streamTails: readonly StreamShape[] = [
  shape('socket left open after `[DONE]`', 'constructed', { body: sse(hello, stop, usage, '[DONE]'), afterwards: 'open' }, told),
  shape('silence after the finish reason', 'constructed', { body: sse(hello, stop), afterwards: 'open' }, untold),
  shape('usage without `choices`', 'zukijourney: anomalyco/opencode#1298', sse(hello, stop, { usage: tokens }, '[DONE]'), told),
  shape('usage with `choices: null`', 'pydantic/pydantic-ai#5170', sse(hello, stop, { choices: null, usage: tokens }, '[DONE]'), told),
  shape('an empty finish reason after the real one', 'SGLang: sgl-project/sglang#3912', sse(hello, stop, end(''), usage, '[DONE]'), told),
  shape('a reset before `[DONE]`', 'constructed', { body: sse(hello, stop, usage), afterwards: 'reset' }, told),
  shape('closed without `[DONE]`', 'perplexityai/api-discussion#209', sse(hello, stop, usage), told),
  shape('an error after the finish reason', 'constructed', sse(hello, stop, { error: { message: 'late' } }), untold),
  shape('garbage after the finish reason', 'constructed', sse(hello, stop, '{"choices":[{"del'), untold),
  shape('no finish reason before `[DONE]`', 'waybarrios/vllm-mlx#628', sse(hello, '[DONE]'), { ...untold, warned: true }),
  shape(
    'only empty finish reasons before `[DONE]`',
    'GenieX: qualcomm/GenieX#1243',
    sse(chunk({ content: 'Hello' }, {}), end(''), '[DONE]'),
    {
      ...untold,
      warned: true,
    },
  ),
  shape(
    'calls without a finish reason before `[DONE]`',
    'gateways: anomalyco/opencode#43882',
    sse(call({ index: 0, id: 'k', function: { name: 'look_up', arguments: '{"word":"sun"}' } }), '[DONE]'),
    { ...called, warned: true },
  ),
  shape('`[DONE]` and nothing else', 'constructed', sse('[DONE]'), {
    error: { class: 'Unreachable', retryable: true, says: 'unreadable answer' },
  }),
  shape('closed in the middle', 'constructed', sse(hello), {
    error: { class: 'StreamCut', retryable: true, says: 'ended before its end' },
  }),
  shape('no empty line behind the last event', 'constructed', `${sse(hello, stop)}data: [DONE]`, untold),
];

/** Chunks that are not as OpenAI writes them. */
export const streamChunks: readonly StreamShape[] = [
  shape(
    'a first chunk with `prompt_filter_results`',
    'Azure: AbanteAI/archive-old-cli-mentat#429',
    sse(
      { id: '', choices: [], created: 0, model: '', object: '', prompt_filter_results: [{ prompt_index: 0 }] },
      hello,
      stop,
      usage,
      '[DONE]',
    ),
    told,
  ),
  shape(
    'a choice without `delta`',
    'Azure: langchain-ai/langchain#18977',
    sse(
      hello,
      { id: '', choices: [{ index: 0, finish_reason: null, content_filter_offsets: { check_offset: 44 } }] },
      stop,
      usage,
      '[DONE]',
    ),
    told,
  ),
  shape(
    'a moderation result without `choices`',
    'constructed',
    sse({ moderation: { flagged: false } }, hello, stop, usage, '[DONE]'),
    told,
  ),
  shape('a ping', 'constructed', sse({ type: 'ping' }, hello, { type: 'ping' }, stop, usage, '[DONE]'), told),
  shape(
    'events of another name',
    'Hermes: janhq/jan#8280',
    `event: hermes.tool.progress\ndata: {"tool":"terminal","status":"running"}\n\n${sse(hello, stop, usage, '[DONE]')}`,
    told,
  ),
  shape(
    '`error: null` in every chunk',
    'Foundry Local: microsoft/foundry-local#144',
    sse({ ...hello, error: null }, { ...stop, error: null, usage: tokens }, '[DONE]'),
    told,
  ),
  shape(
    'numbers as texts, ids as numbers',
    'constructed',
    sse(
      { ...hello, id: 17, created: '1760000000' },
      { ...stop, created: '1760000000' },
      { choices: [], usage: { prompt_tokens: '7', completion_tokens: '2' } },
      '[DONE]',
    ),
    told,
  ),
  shape(
    'another role',
    'MiniMax: Th0rgal/sandboxed.sh#143',
    sse(chunk({ role: 'model', content: 'Hel' }), chunk({ role: '', content: 'lo' }), stop, usage, '[DONE]'),
    told,
  ),
  shape('reasoning as object', 'constructed', sse(chunk({ reasoning: { text: 'Hm', signature: null } }), hello, stop, usage, '[DONE]'), {
    ...told,
    reasoning: 'Hm',
  }),
  shape(
    'reasoning in `reasoning`',
    'OpenRouter, vLLM: from memory',
    sse(chunk({ reasoning: 'Hm', reasoning_details: [{ type: 'reasoning.text', text: 'Hm' }] }), hello, stop, usage, '[DONE]'),
    {
      ...told,
      reasoning: 'Hm',
    },
  ),
  shape('content as list', 'Mistral: from memory', sse(chunk({ content: [{ type: 'text', text: 'Hello' }] }), stop, usage, '[DONE]'), told),
  shape(
    'empty finish reasons',
    'Ollama: ollama/ollama#4357',
    sse(
      chunk({ content: 'Hel' }, {}),
      { ...end(''), choices: [{ index: 0, delta: { content: 'lo' }, finish_reason: '' }] },
      stop,
      usage,
      '[DONE]',
    ),
    told,
  ),
  shape(
    'the finish reason with the last text',
    'vLLM: vllm-project/vllm#36944',
    sse({ ...hello, choices: [{ index: 0, delta: { content: 'Hello' }, finish_reason: 'stop' }] }, usage, '[DONE]'),
    told,
  ),
  shape(
    'usage in the choice',
    'Moonshot: higress-group/higress#1568',
    sse(hello, { id: 'c1', choices: [{ index: 0, delta: {}, finish_reason: 'stop', usage: tokens }] }, '[DONE]'),
    told,
  ),
  shape('usage in `x_groq`', 'Groq: from memory', sse(hello, { ...stop, x_groq: { usage: tokens } }, '[DONE]'), told),
  shape(
    'usage in every chunk',
    'vLLM, `continuous_usage_stats`: from memory',
    sse({ ...hello, usage: { ...tokens, completion_tokens: 1 } }, { ...stop, usage: tokens }, '[DONE]'),
    told,
  ),
  shape(
    'a choice whose index rises',
    'Foundry Local: microsoft/foundry-local#144',
    sse({ ...hello, choices: [{ index: 197, delta: { content: 'Hello' }, finish_reason: null }] }, stop, usage, '[DONE]'),
    told,
  ),
  shape(
    'arguments as object, one call in place of a list',
    'TGI: huggingface/text-generation-inference#2136',
    sse(
      chunk({ tool_calls: { index: 0, id: '0', function: { name: 'look_up', arguments: { word: 'sun' } } } }),
      end('tool_calls'),
      '[DONE]',
    ),
    called,
  ),
  shape(
    'a call without id, index and type',
    'Ollama: BerriAI/litellm#24095',
    sse(call({ function: { name: 'look_up', arguments: { word: 'sun' } } }), end('stop'), '[DONE]'),
    called,
  ),
  shape(
    'a call with an empty name',
    'constructed: the SDK drops such calls',
    sse(call({ index: 0, id: 'k', type: 'function', function: { name: '', arguments: '{"word":"sun"}' } }), end('tool_calls'), '[DONE]'),
    unnamed,
  ),
  shape(
    'a call with white space for a name, in pieces, behind a whole one',
    'constructed',
    sse(
      call({ index: 0, id: 'a', function: { name: 'look_up', arguments: '{"word":"sun"}' } }),
      call({ index: 1, id: 'b', function: { name: ' \n', arguments: '{"word":' } }),
      call({ index: 1, function: { name: '', arguments: '"sun"}' } }),
      end('tool_calls'),
      '[DONE]',
    ),
    { ...called, calls: [...called.calls, ...unnamed.calls] },
  ),
  shape(
    'a call without a name, id and index',
    'constructed',
    sse(call({ function: { arguments: '{"word":' } }), call({ function: { arguments: '"sun"}' } }), end('tool_calls'), '[DONE]'),
    unnamed,
  ),
  shape(
    'a call whose name comes last',
    'constructed',
    sse(
      call({ index: 0, id: 'k', function: { name: null, arguments: '{"word":"sun"}' } }),
      call({ index: 0, function: { name: 'look_up' } }),
      end('tool_calls'),
      '[DONE]',
    ),
    called,
  ),
  shape(
    'calls that say nothing',
    'constructed',
    sse(call({}), { ...hello, choices: [{ index: 0, delta: { content: 'Hello', tool_calls: [{ index: 0 }] } }] }, stop, usage, '[DONE]'),
    told,
  ),
  shape(
    'an empty object before the arguments',
    'Bedrock: openai/openai-agents-js#712',
    sse(
      call({ index: 0, id: 'k', function: { name: 'look_up', arguments: '{}' } }),
      call({ index: 0, function: { arguments: '{"word":"sun"}' } }),
      end('tool_calls'),
      '[DONE]',
    ),
    called,
  ),
  shape(
    'arguments encoded twice',
    'vLLM with Granite: vllm-project/vllm#54964',
    sse(
      call({ index: 0, id: 'k', function: { name: 'look_up', arguments: '"{\\"word\\":' } }),
      call({ index: 0, function: { arguments: ' \\"sun\\"}"' } }),
      end('tool_calls'),
      '[DONE]',
    ),
    called,
  ),
  shape(
    'legacy `function_call`',
    'constructed',
    sse(
      chunk({ function_call: { name: 'look_up', arguments: '' } }),
      chunk({ function_call: { arguments: '{"word":' } }),
      chunk({ function_call: { arguments: '"sun"}' } }),
      end('function_call'),
      '[DONE]',
    ),
    called,
  ),
  shape(
    'one JSON answer in place of a stream',
    'mistralai/mistral-vibe#619',
    {
      content_type: 'application/json',
      body: JSON.stringify({
        id: 'c1',
        object: 'chat.completion',
        choices: [{ index: 0, message: { role: 'assistant', content: 'Hello' }, finish_reason: 'stop' }],
        usage: tokens,
      }),
    },
    { ...told, warned: true },
  ),
  shape(
    'one JSON answer with a call and no finish reason',
    'constructed',
    {
      content_type: 'application/json',
      body: JSON.stringify({ choices: [{ message: { tool_calls: [{ function: { name: 'look_up', arguments: { word: 'sun' } } }] } }] }),
    },
    { ...called, warned: true },
  ),
];

/** Bytes of a stream that are allowed and rare. */
export const streamBytes: readonly StreamShape[] = [
  shape(
    'comments to keep the connection',
    'OpenRouter',
    `: OPENROUTER PROCESSING\n\n${sse(hello)}: OPENROUTER PROCESSING\n\n${sse(stop, usage, '[DONE]')}`,
    told,
  ),
  shape('CRLF and a byte order mark', 'constructed', `\uFEFF${sse(hello, stop, usage, '[DONE]').replaceAll('\n', '\r\n')}`, told),
  shape('no space after `data:`', 'lidge-jun/opencodex#1170', sse(hello, stop, usage, '[DONE]').replaceAll('data: ', 'data:'), told),
  shape(
    'an event over several `data` lines',
    'SSE as specified',
    `data: ${JSON.stringify(hello, null, 1).replaceAll('\n', '\ndata: ')}\n\n${sse(stop, usage, '[DONE]')}`,
    told,
  ),
  shape(
    'writes that split characters',
    'constructed',
    { body: sse(chunk({ content: 'Größe 😀' }), stop, usage, '[DONE]'), write_bytes: 1 },
    { ...told, text: 'Größe 😀' },
  ),
  shape('sent as `text/plain`', 'constructed', { content_type: 'text/plain', body: sse(hello, stop, usage, '[DONE]') }, told),
  shape(
    'an event of 5 MB',
    'constructed',
    { body: sse(chunk({ content: 'x'.repeat(5 * 1024 * 1024) })), write_bytes: 65_536 },
    {
      error: { class: 'Unreachable', retryable: true, says: 'too long' },
    },
  ),
];
