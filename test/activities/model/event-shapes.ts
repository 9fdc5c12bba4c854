import type { ModelAdapter } from '../../../ports/models/models.ts';
import type { RawAnswer } from '../../fakes/model-raw.ts';
import { sse, type ShapeOutcome, type StreamShape } from './stream-shapes.ts';

/** A shape of an answer in one of the two protocols whose events have types. */
export interface EventShape extends StreamShape {
  readonly adapter: ModelAdapter;
}

const shapeFor =
  (adapter: ModelAdapter) =>
  (name: string, seen: string, raw: string | RawAnswer, outcome: ShapeOutcome): EventShape => ({
    name,
    seen,
    adapter,
    raw: typeof raw === 'string' ? { body: raw } : raw,
    outcome,
  });
const messages = shapeFor('anthropic');
const responses = shapeFor('openai');

const told = { text: 'Hello', stopReason: 'stop', usage: [7, 2] } as const;
const untold = { ...told, usage: null } as const;
const called = { calls: [{ slug: 'look_up', args: { word: 'sun' } }], stopReason: 'tool_calls' } as const;

const unnamed = { ...called, calls: [{ slug: '_unnamed', args: { word: 'sun' } }] } as const;

const head = { id: 'm1', type: 'message', role: 'assistant', model: 'm', content: [], stop_reason: null, stop_sequence: null };
const start = { type: 'message_start', message: { ...head, usage: { input_tokens: 7, output_tokens: 1 } } };
const text = [
  { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
  { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hello' } },
  { type: 'content_block_stop', index: 0 },
];
const toolUse = [
  { type: 'content_block_start', index: 0, content_block: { type: 'tool_use', id: 'k', name: 'look_up', input: {} } },
  { type: 'content_block_delta', index: 0, delta: { type: 'input_json_delta', partial_json: '{"word":"sun"}' } },
  { type: 'content_block_stop', index: 0 },
];
const end = { type: 'message_delta', delta: { stop_reason: 'end_turn', stop_sequence: null }, usage: { output_tokens: 2 } };
const stop = { type: 'message_stop' };

const tokens = { input_tokens: 7, output_tokens: 2 };
const created = { type: 'response.created', response: { id: 'r1', created_at: 1_760_000_000, model: 'm' } };
const item = { type: 'message', id: 'i1', role: 'assistant', content: [{ type: 'output_text', text: 'Hello', annotations: [] }] };
const functionCall = { type: 'function_call', id: 'f1', call_id: 'k', name: 'look_up', arguments: '{"word":"sun"}', status: 'completed' };
const output = [
  { type: 'response.output_item.added', output_index: 0, item },
  { type: 'response.output_text.delta', item_id: 'i1', output_index: 0, delta: 'Hello' },
  { type: 'response.output_item.done', output_index: 0, item },
];

const json = (body: object): RawAnswer => ({ content_type: 'application/json', body: JSON.stringify(body) });

/** Messages and Responses that are not as their makers write them. */
export const eventShapes: readonly EventShape[] = [
  messages('Messages: an end without usage', 'constructed', sse(start, ...text, { ...end, usage: undefined }, stop), untold),
  messages(
    'Messages: a start with `usage: null`',
    'constructed',
    sse({ type: 'message_start', message: { ...head, usage: null } }, ...text, end),
    untold,
  ),
  messages('Messages: `message_stop` without a reason', 'constructed', sse(start, ...text, stop), { ...untold, warned: true }),
  messages('Messages: a call, `[DONE]` and no reason', 'constructed', sse(start, ...toolUse, '[DONE]'), { ...called, warned: true }),
  messages(
    'Messages: events, blocks and deltas of other types',
    'constructed',
    sse(
      start,
      { type: 'gateway_note', note: 'x' },
      { type: 'content_block_start', index: 1, content_block: { type: 'guard_result', safe: true } },
      { type: 'content_block_delta', index: 1, delta: { type: 'guard_delta', part: 'x' } },
      { type: 'content_block_stop', index: 1 },
      ...text,
      end,
      stop,
    ),
    told,
  ),
  messages(
    'Messages: one JSON answer in place of a stream',
    'constructed',
    json({ ...head, content: [{ type: 'text', text: 'Hello' }], stop_reason: 'end_turn', usage: tokens }),
    { ...told, warned: true },
  ),
  messages(
    'Messages: one JSON answer with thoughts and a call',
    'constructed',
    json({
      ...head,
      content: [
        { type: 'thinking', thinking: 'Hm', signature: 's' },
        { type: 'tool_use', id: 'k', name: 'look_up', input: { word: 'sun' } },
      ],
      stop_reason: 'tool_use',
      usage: tokens,
    }),
    { ...called, reasoning: 'Hm', usage: [7, 2], warned: true },
  ),
  messages(
    'Messages: a call with an empty name',
    'constructed',
    sse(start, { ...toolUse[0], content_block: { type: 'tool_use', id: 'k', name: '', input: {} } }, ...toolUse.slice(1), {
      ...end,
      delta: { stop_reason: 'tool_use' },
    }),
    unnamed,
  ),
  messages(
    'Messages: a call without a name',
    'constructed',
    sse(start, { ...toolUse[0], content_block: { type: 'tool_use', id: 'k', input: {} } }, ...toolUse.slice(1), {
      ...end,
      delta: { stop_reason: 'tool_use' },
    }),
    unnamed,
  ),
  ...[' ', undefined].map((name) =>
    responses(
      `Responses: a call ${name === undefined ? 'without a name' : 'with white space for a name'}`,
      'constructed',
      sse(
        created,
        { type: 'response.output_item.added', output_index: 0, item: { ...functionCall, name, arguments: '' } },
        { type: 'response.function_call_arguments.delta', item_id: 'f1', output_index: 0, delta: functionCall.arguments },
        { type: 'response.output_item.done', output_index: 0, item: { ...functionCall, name } },
        { type: 'response.completed', response: { usage: tokens } },
      ),
      unnamed,
    ),
  ),
  ...(
    [
      ['without its time', { id: 'r1', model: 'm' }],
      ['with a time as text, numbers as names and no model', { id: 7, created_at: '2026-11-29T00:00:00Z', service_tier: 1 }],
      ['that is empty', null],
    ] as const
  ).map(([what, response]) =>
    responses(
      `Responses: a \`response.created\` ${what}`,
      'constructed',
      sse({ type: 'response.created', response }, ...output, { type: 'response.completed', response: { usage: tokens } }),
      told,
    ),
  ),
  responses('Responses: `[DONE]` before `response.completed`', 'constructed', sse(created, ...output, '[DONE]'), {
    ...untold,
    warned: true,
  }),
  responses(
    'Responses: one JSON answer in place of a stream',
    'constructed',
    json({ id: 'r1', object: 'response', status: 'completed', error: null, output: [item], usage: tokens }),
    { ...told, warned: true },
  ),
  responses(
    'Responses: one JSON answer with a call',
    'constructed',
    json({ id: 'r1', object: 'response', status: 'completed', error: null, output: [functionCall], usage: tokens }),
    { ...called, usage: [7, 2], warned: true },
  ),
];
