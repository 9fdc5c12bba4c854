import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { jsonAnswerOf, judgeAnswer, parseJson } from '../../../activities/model/prompt/json-answer.ts';
import { brokenArguments, inexactArgument } from '../../../activities/model/wire/plain-text.ts';
import { argsHashOf } from '../../../db/runs/calls/args-hash.ts';
import type { ModelAdapter } from '../../../ports/models/models.ts';
import type { RawAnswer } from '../../fakes/model-raw.ts';
import { eventsOf, requestOf, startStepBench, type StepBench } from './model-step.ts';

let bench: StepBench;
beforeAll(async () => {
  bench = await startStepBench();
});
afterAll(() => bench.close());

const large = '1234567890123456789';
/** The double 0.1, with more digits than tell it apart: an amount that somebody wrote. */
const longFraction = '0.1000000000000000055511151231257827';
const sse = (...events: readonly (object | string)[]): RawAnswer => ({
  body: events.map((event) => `data: ${typeof event === 'string' ? event : JSON.stringify(event)}\n\n`).join(''),
});
const json = (body: string): RawAnswer => ({ content_type: 'application/json', body });

/** Chunks of Chat Completions around the arguments of one call, as JSON. */
const chat = (...pieces: readonly string[]) =>
  sse(
    ...pieces.map(
      (piece, at) =>
        `{"id":"c","created":1760000000,"model":"m","choices":[{"index":0,"finish_reason":null,"delta":{"tool_calls":[{"index":0${at === 0 ? ',"id":"k"' : ''},"function":{${at === 0 ? '"name":"look_up",' : ''}"arguments":${piece}}}]}}]}`,
    ),
    { id: 'c', model: 'm', choices: [{ index: 0, delta: {}, finish_reason: 'tool_calls' }] },
    '[DONE]',
  );
const start = {
  type: 'message_start',
  message: {
    id: 'm',
    type: 'message',
    role: 'assistant',
    model: 'm',
    content: [],
    stop_reason: null,
    usage: { input_tokens: 7, output_tokens: 1 },
  },
};
const messages = (input: string, ...pieces: readonly string[]) =>
  sse(
    start,
    `{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"k","name":"look_up","input":${input}}}`,
    ...pieces.map((partial_json) => ({ type: 'content_block_delta', index: 0, delta: { type: 'input_json_delta', partial_json } })),
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: 'tool_use', stop_sequence: null }, usage: { output_tokens: 2 } },
    { type: 'message_stop' },
  );
const responses = (text: string) => {
  const item = { type: 'function_call', id: 'f', call_id: 'k', name: 'look_up', arguments: text, status: 'completed' };
  return sse(
    { type: 'response.created', response: { id: 'r', created_at: 1_760_000_000, model: 'm' } },
    { type: 'response.output_item.added', output_index: 0, item: { ...item, arguments: '' } },
    { type: 'response.function_call_arguments.delta', item_id: 'f', output_index: 0, delta: text },
    { type: 'response.output_item.done', output_index: 0, item },
    { type: 'response.completed', response: { id: 'r', usage: { input_tokens: 7, output_tokens: 2 } } },
  );
};

/** Every way in which the arguments of a call reach us, with a number in them. */
const ways: readonly (readonly [string, ModelAdapter, (number: string) => RawAnswer])[] = [
  [
    'Chat Completions: streamed, cut within the number',
    'openai_compatible',
    (number) => chat(JSON.stringify(`{"id":${number.slice(0, 3)}`), JSON.stringify(`${number.slice(3)}}`)),
  ],
  ['Chat Completions: arguments as an object', 'openai_compatible', (number) => chat(`{"id":${number}}`)],
  [
    'Chat Completions: in one piece',
    'openai_compatible',
    (number) =>
      json(
        `{"id":"c","model":"m","choices":[{"index":0,"finish_reason":"tool_calls","message":{"tool_calls":[{"id":"k","function":{"name":"look_up","arguments":{"id":${number}}}}]}}]}`,
      ),
  ],
  [
    'Chat Completions: the older function_call',
    'openai_compatible',
    (number) =>
      json(
        `{"id":"c","model":"m","choices":[{"index":0,"finish_reason":"function_call","message":{"function_call":{"name":"look_up","arguments":{"id":${number}}}}}]}`,
      ),
  ],
  [
    'Messages: input_json_delta, cut within the number',
    'anthropic',
    (number) => messages('{}', `{"id":${number.slice(0, 3)}`, `${number.slice(3)}}`),
  ],
  ['Messages: whole at the start of the block', 'anthropic', (number) => messages(`{"id":${number}}`)],
  [
    'Messages: in one piece',
    'anthropic',
    (number) =>
      json(
        `{"id":"m","type":"message","role":"assistant","model":"m","stop_reason":"tool_use","usage":{"input_tokens":7,"output_tokens":2},"content":[{"type":"tool_use","id":"k","name":"look_up","input":{"id":${number}}}]}`,
      ),
  ],
  ['Responses: function_call_arguments', 'openai', (number) => responses(`{"id":${number}}`)],
];

let asked = 0;
async function callOf(adapter: ModelAdapter, raw: RawAnswer) {
  asked += 1;
  bench.server.script(`numbers-${asked}`, { steps: [{ raw }] });
  const events = await eventsOf(
    bench,
    requestOf(bench.model(adapter), { messages: [{ role: 'user', content: [{ type: 'text', text: `[script:numbers-${asked}]` }] }] }),
  );
  const [call] = events.flatMap((event) => (event.type === 'tool_call' ? [event] : []));
  if (!call) throw new Error('no call came');
  return call;
}

test.each(ways)('an identifier that a double would change is an invalid call, told with its digits: %s', async (_way, adapter, answer) => {
  const call = await callOf(adapter, answer(large));

  expect(call.args).toBeNull();
  expect(call.argsText).toBe(`{"id":${large}}`);
  expect(brokenArguments(call.argsText)).toContain(`The number ${large} has more digits`);
});

test.each(ways)('a fraction of more digits than a double has is told as it is written: %s', async (_way, adapter, answer) => {
  const { argsText } = await callOf(adapter, answer(longFraction));

  expect(inexactArgument(argsText)).toBe(longFraction);
  expect(inexactArgument(JSON.stringify(argsText))).toBe(longFraction);
  expect(brokenArguments(argsText)).toContain(`The number ${longFraction} has more digits`);
});

test.each(ways)('numbers that a double keeps come through: %s', async (_way, adapter, answer) => {
  for (const number of ['9007199254740992', '1e22', '0.30000000000000004']) {
    const { args, argsText } = await callOf(adapter, answer(number));
    expect([args, inexactArgument(argsText)]).toEqual([{ id: Number(number) }, null]);
  }
});

test('identifiers that are accepted, as texts, have hashes of their own', async () => {
  const hashes = await Promise.all(
    ['789', '788'].map(async (end) => {
      const { args } = await callOf('anthropic', messages('{}', `{"id":"1234567890123456${end}"}`));
      return argsHashOf(args ?? {});
    }),
  );

  expect(new Set(hashes).size).toBe(2);
});

test.each([
  ['words', { args: null, argsText: '', text: `{"id":${large}}` }],
  ['a code fence', { args: null, argsText: '', text: `\`\`\`json\n{"id":${large}}\n\`\`\`` }],
  ['the result tool', { args: null, argsText: `{"id":${large}}`, text: '' }],
])('an answer in JSON with such a number is asked for again: %s', async (_way, given) => {
  const answer = jsonAnswerOf(bench.model('openai_compatible'), { type: 'json', schema: null, name: null, strict: false } as never);
  if (answer === null) throw new Error('the answer is JSON');

  const judged = await judgeAnswer({ validate: () => Promise.resolve([]) }, answer, given);

  expect(judged).toEqual({ kind: 'broken', told: expect.stringContaining('more digits than a number can keep') });
  expect(parseJson('{"id":1e22}')).toEqual({ id: 1e22 });
});

test('arguments that are no JSON are told as before', () => {
  expect(brokenArguments(`{"id":${large}`)).toContain('not a JSON object');
});
