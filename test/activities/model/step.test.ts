import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { PromptMessage } from '../../../activities/model/prompt/prompt.ts';
import { defaultModelSettings } from '../../../activities/model/prompt/prompt.ts';
import type { ModelAdapter } from '../../../ports/models/models.ts';
import { eventsOf, finishOf, requestOf, scripted, startStepBench, textOf, type StepBench } from './model-step.ts';

let bench: StepBench;
beforeAll(async () => {
  bench = await startStepBench();
});
afterAll(() => bench.close());

const providers = ['openai', 'anthropic', 'openai_compatible'] as const satisfies readonly ModelAdapter[];

test.each(providers)('reasoning, text and parallel calls arrive in order with their numbers (%s)', async (adapter) => {
  const step = {
    reasoning: 'first think',
    text: 'Hello wörld',
    tool_calls: [
      { id: 'call_a', name: 'look_up', arguments: { word: 'sun' } },
      { id: 'call_b', name: 'look_up', arguments: {} },
    ],
  };

  const events = await eventsOf(bench, requestOf(bench.model(adapter), { messages: scripted(step) }));

  const kind = adapter === 'openai_compatible' ? 'full' : 'summary';
  expect(events.slice(0, 4)).toEqual([
    { type: 'reasoning', index: 0, delta: 'first ', kind },
    { type: 'reasoning', index: 0, delta: 'think', kind },
    { type: 'text', index: 1, delta: 'Hello ' },
    { type: 'text', index: 1, delta: 'wörld' },
  ]);
  expect(events.filter((event) => event.type === 'tool_call')).toEqual([
    { type: 'tool_call', pos: 0, providerCallId: 'call_a', slug: 'look_up', argsText: '{"word":"sun"}', args: { word: 'sun' } },
    { type: 'tool_call', pos: 1, providerCallId: 'call_b', slug: 'look_up', argsText: '{}', args: {} },
  ]);
  expect(finishOf(events)).toMatchObject({ stopReason: 'tool_calls', usage: { estimated: false } });
});

test.each(['openai', 'openai_compatible'] as const)('a refusal is told apart from an answer while it streams (%s)', async (adapter) => {
  const events = await eventsOf(bench, requestOf(bench.model(adapter), { messages: scripted({ refusal: 'I can not' }) }));

  expect(events.slice(0, -1)).toEqual(['I ', 'can ', 'not'].map((delta) => ({ type: 'refusal', index: 0, delta })));
  expect(finishOf(events).stopReason).toBe('refused');
});

test('a refusal of Anthropic ends as refused', async () => {
  const events = await eventsOf(bench, requestOf(bench.model('anthropic'), { messages: scripted({ refusal: 'I can not' }) }));

  expect(finishOf(events).stopReason).toBe('refused');
});

test.each([
  ['length', 'max_output'],
  ['max_tokens', 'max_output'],
  ['eos', 'stop'],
  ['end_turn', 'stop'],
])('an end called %s is %s', async (finish_reason, stopReason) => {
  const events = await eventsOf(
    bench,
    requestOf(bench.model('openai_compatible'), { messages: scripted({ text: 'so far', finish_reason }) }),
  );

  expect(finishOf(events).stopReason).toBe(stopReason);
});

test('no delta holds U+0000 or half a surrogate pair, and nothing is lost', async () => {
  const text = 'a😀b\u0000c\ud83dd😀';
  const call = { name: 'look_up', arguments: '{"word":"x\\u0000y\\ud800"}' };

  const events = await eventsOf(
    bench,
    requestOf(bench.model('openai_compatible'), { messages: scripted({ text, tokens: text.length, tool_calls: [call] }) }),
  );

  const deltas = events.flatMap((event) => (event.type === 'text' ? [event.delta] : []));
  expect(deltas.join('')).toBe('a😀b\ufffdc\ufffdd😀');
  for (const delta of deltas) expect(delta.isWellFormed()).toBe(true);
  expect(events.find((event) => event.type === 'tool_call')).toMatchObject({ args: { word: 'x\ufffdy\ufffd' } });
});

test('arguments that are no JSON object are null, the text stays', async () => {
  const events = await eventsOf(
    bench,
    requestOf(bench.model('openai_compatible'), { messages: scripted({ tool_calls: [{ name: 'look_up', arguments: '{"word":' }] }) }),
  );

  expect(events.find((event) => event.type === 'tool_call')).toMatchObject({ argsText: '{"word":', args: null });
});

test('usage is what the provider counts, or an estimate that says so', async () => {
  const told = {
    prompt_tokens: 100,
    completion_tokens: 30,
    prompt_tokens_details: { cached_tokens: 60 },
    completion_tokens_details: { reasoning_tokens: 10 },
  };

  const counted = await eventsOf(bench, requestOf(bench.model('openai_compatible'), { messages: scripted({ text: 'hi', usage: told }) }));
  const silent = await eventsOf(
    bench,
    requestOf(bench.model('openai_compatible'), { messages: scripted({ text: 'twelve chars', usage: null }) }),
  );

  expect(finishOf(counted).usage).toEqual({ input: 40, cachedRead: 60, cachedWrite: 0, output: 20, reasoning: 10, estimated: false });
  expect(finishOf(silent).usage).toMatchObject({ output: 3, estimated: true });
  expect(finishOf(silent).usage.input).toBeGreaterThan(0);
});

test("OpenAI stores nothing, tenants' schemas stay as they are, only allowed options go out", async () => {
  const settings = { ...defaultModelSettings, temperature: null, providerOptions: { text_verbosity: 'low', store: true } };

  await eventsOf(bench, requestOf(bench.model('openai'), { settings, maxOutputTokens: 64 }));

  const body = bench.server.calls().at(-1)?.body;
  expect(body).toMatchObject({
    store: false,
    max_output_tokens: 64,
    text: { verbosity: 'low' },
    tools: [{ name: 'look_up', strict: false }],
  });
});

test('options of a compatible server go out as written, others not at all', async () => {
  const settings = { ...defaultModelSettings, temperature: 0.5, stop: ['END'], seed: 7, providerOptions: { top_k: 3, stream: false } };

  await eventsOf(bench, requestOf(bench.model('openai_compatible'), { settings }));

  expect(bench.server.calls().at(-1)?.body).toMatchObject({ temperature: 0.5, stop: ['END'], seed: 7, top_k: 3, stream: true });
});

test('Anthropic gets cache marks at the ends of instructions, question and history, unless cache is off', async () => {
  const messages: PromptMessage[] = [
    { role: 'user', content: [{ type: 'text', text: 'Q' }] },
    { role: 'assistant', content: [], toolCalls: [{ id: 'c1', slug: 'look_up', args: {} }] },
    { role: 'tool', toolCallId: 'c1', slug: 'look_up', status: 'succeeded', output: 'R' },
  ];

  await eventsOf(bench, requestOf(bench.model('anthropic'), { messages }));
  await eventsOf(bench, requestOf(bench.model('anthropic'), { messages, settings: { ...defaultModelSettings, cache: 'off' } }));

  const [marked, bare] = bench.server
    .calls()
    .slice(-2)
    .map((call) => JSON.stringify(call.body));
  expect(marked?.match(/"cache_control"/g)).toHaveLength(3);
  expect(bare).not.toContain('cache_control');
});

test.each(providers)('what a provider signed comes back to it within the turn, and to no other model (%s)', async (adapter) => {
  const question = scripted(
    { reasoning: 'hmm ok', text: 'Wait', tool_calls: [{ id: 'c1', name: 'look_up', arguments: {} }] },
    { text: 'Done' },
  );
  const { providerState } = finishOf(await eventsOf(bench, requestOf(bench.model(adapter), { messages: question })));
  const messages: PromptMessage[] = [
    ...question,
    { role: 'assistant', content: [{ type: 'text', text: 'Wait' }], toolCalls: [{ id: 'c1', slug: 'look_up', args: {} }], providerState },
    { role: 'tool', toolCallId: 'c1', slug: 'look_up', status: 'succeeded', output: { n: 1 } },
  ];

  const answer = await eventsOf(bench, requestOf(bench.model(adapter), { messages }));
  await eventsOf(bench, requestOf(bench.model(adapter, { id: 'another/model' }), { messages }));

  expect(textOf(answer)).toBe('Done');
  const [same, other] = bench.server
    .calls()
    .slice(-2)
    .map((call) => JSON.stringify(call.body['messages'] ?? call.body['input']));
  const mark = {
    openai: '"encrypted_content":"sealed-6"',
    anthropic: '"signature":"signed-0"',
    openai_compatible: '"reasoning_content":"hmm ok"',
  }[adapter];
  expect(same).toContain(mark);
  expect(other).not.toContain(mark);
});
