import { exactText, tagInexact } from '../../../workflows/contracts/tools/exact-json.ts';
import { bareError, isReported, parsedJson, record, wordsIn } from './provider-message.ts';
import { calledName } from './unnamed-call.ts';
import type { WireEvent, WireProtocol } from './wire.ts';

type Fields = Readonly<Record<string, unknown>>;

const nothing = { data: null, state: 'open', error: null } as const;
const unreported = 'the server ended its stream without a reason to stop';
const inOneChunk = 'the server ignores `stream` and gave the answer in one piece';

/** Responses of OpenAI: the SDK reads its events as they are. The last event marks the end, not the end of the connection. */
export class ResponsesWire implements WireProtocol {
  readonly warnings: string[] = [];
  #hasOutput = false;

  read(data: string): WireEvent {
    if (data.trim() === '[DONE]') return this.#done();
    const value = record(parsedJson(data));
    const type = value?.['type'];
    if (type === 'error' || type === 'response.failed') return { data, state: 'open', error: wordsIn(value) };
    if (type === undefined || value?.['object'] === 'error') return { data, state: 'open', error: bareError(parsedJson(data)) };
    this.#hasOutput ||= type === 'response.output_text.delta' || type === 'response.output_item.done';
    return {
      data: readable(value ?? {}) ?? data,
      state: type === 'response.completed' || type === 'response.incomplete' ? 'ended' : 'open',
      error: null,
    };
  }

  whole(value: unknown): WireEvent {
    const answer = record(value);
    if (isReported(answer?.['error']) || !Array.isArray(answer?.['output'])) return noAnswer(value);
    this.warnings.push(inOneChunk);
    const type = answer['status'] === 'incomplete' ? 'response.incomplete' : 'response.completed';
    return together([...answer['output'].flatMap(eventsOfItem), { type, response: answer }]);
  }

  #done(): WireEvent {
    if (!this.#hasOutput) return { ...nothing, state: 'ended' };
    this.warnings.push(unreported);
    return { data: '{"type":"response.completed","response":{}}', state: 'ended', error: null };
  }
}

/** Returns an event with the fields that the SDK requires; null: it needs no change. */
function readable(value: Fields): string | null {
  const item = record(value['item']);
  if (item?.['type'] === 'function_call') return JSON.stringify({ ...value, item: withName(item) });
  if (value['type'] !== 'response.created') return null;
  const { id, created_at: createdAt, model, service_tier: tier } = record(value['response']) ?? {};
  const response = {
    id: typeof id === 'string' ? id : '',
    created_at: typeof createdAt === 'number' ? createdAt : 0,
    model: typeof model === 'string' ? model : '',
    ...(typeof tier === 'string' ? { service_tier: tier } : {}),
  };
  return JSON.stringify({ ...value, response });
}

/** Returns the events in which an item of an answer would have streamed. */
function eventsOfItem(item: unknown, output_index: number): Fields[] {
  const { type, id, content } = record(item) ?? {};
  const texts = (Array.isArray(content) ? content : []).flatMap((part) => record(part)?.['text'] ?? []);
  const deltas = type === 'message' ? texts.map((delta) => ({ type: 'response.output_text.delta', item_id: id, output_index, delta })) : [];
  const named = type === 'function_call' ? withName(record(item) ?? {}) : item;
  const edges = ['added', 'done'].map((edge) => ({ type: `response.output_item.${edge}`, output_index, item: named }));
  return [...edges.slice(0, 1), ...deltas, ...edges.slice(1)];
}

/** What the SDK's schema accepts; servers also send events, blocks and deltas of their own, and new ones appear. */
const events = ['message_start', 'content_block_start', 'content_block_delta', 'content_block_stop', 'message_delta', 'message_stop'];
const blocks = ['text', 'thinking', 'redacted_thinking', 'tool_use'];
const deltas = ['text_delta', 'thinking_delta', 'signature_delta', 'input_json_delta', 'citations_delta'];

/** Messages of Anthropic: its usage comes with its stop reason, and only an end marker without content would follow. */
export class MessagesWire implements WireProtocol {
  readonly warnings: string[] = [];
  #hasText = false;
  #hasCalls = false;

  read(data: string): WireEvent {
    if (data.trim() === '[DONE]') return this.#end();
    const value = record(parsedJson(tagInexact(data, 'all')));
    const type = value?.['type'];
    if (type === 'error') return { data, state: 'open', error: wordsIn(value) };
    if (!value || type === undefined || value['object'] === 'error') return { data, state: 'open', error: bareError(parsedJson(data)) };
    return this.#take(value);
  }

  whole(value: unknown): WireEvent {
    const answer = record(value);
    if (answer?.['type'] !== 'message' || !Array.isArray(answer['content'])) return noAnswer(value);
    this.warnings.push(inOneChunk);
    const { stop_reason = null, usage } = answer;
    const start = { type: 'message_start', message: { ...answer, content: [], stop_reason: null } };
    const end = { type: 'message_delta', delta: { stop_reason }, usage };
    const taken = [start, ...answer['content'].flatMap(eventsOfBlock), end].map((event) => this.#take(event));
    const last = taken.at(-1)?.state === 'ended' ? [] : [this.#end()];
    return together([...taken, ...last].flatMap(({ data, more = [] }) => [data, ...more]).flatMap((text) => parsedJson(text ?? '') ?? []));
  }

  #take(value: Fields): WireEvent {
    const { type } = value;
    const block = record(value['content_block']);
    const delta = record(value['delta']);
    if (!events.includes(String(type))) return nothing;
    if (block && !blocks.includes(String(block['type']))) return nothing;
    if (type === 'content_block_delta' && !deltas.includes(String(delta?.['type']))) return nothing;
    if (type === 'message_stop') return this.#end();

    this.#hasCalls ||= block?.['type'] === 'tool_use';
    this.#hasText ||= typeof delta?.['text'] === 'string';
    const named = block?.['type'] === 'tool_use' ? { ...value, content_block: withName(block) } : value;
    const whole = wholeInput(named);
    if (whole !== null) return whole;
    const data = exactText(withUsage(named));
    const reason = type === 'message_delta' ? delta?.['stop_reason'] : null;
    if (typeof reason === 'string' && reason !== '') return { data, more: [stop], state: 'ended', error: null };
    return { data, state: 'open', error: null };
  }

  /** Handles an end marker that comes before any stop reason. */
  #end(): WireEvent {
    if (!this.#hasCalls && !this.#hasText) return { data: stop, state: 'ended', error: null };
    this.warnings.push(unreported);
    const stop_reason = this.#hasCalls ? 'tool_use' : 'end_turn';
    const data = JSON.stringify(withUsage({ type: 'message_delta', delta: { stop_reason } }));
    return { data, more: [stop], state: 'ended', error: null };
  }
}

const stop = '{"type":"message_stop"}';

/**
 * Returns arguments that came whole at the start of their call as the text in which they would have streamed: the SDK would parse them into doubles. Null for
 * any other event.
 */
function wholeInput(value: Fields): WireEvent | null {
  const block = record(value['content_block']);
  const input = record(block?.['input']);
  if (value['type'] !== 'content_block_start' || block?.['type'] !== 'tool_use' || !input || Object.keys(input).length === 0) return null;
  const partial_json = exactText(input);
  const delta = { type: 'content_block_delta', index: value['index'], delta: { type: 'input_json_delta', partial_json } };
  const data = JSON.stringify({ ...value, content_block: { ...block, input: {} } });
  return { data, more: [JSON.stringify(delta)], state: 'open', error: null };
}

/** The SDK refuses the whole answer for a call without a name. */
function withName(call: Fields): Fields {
  return { ...call, name: calledName(call['name']) };
}

/** The SDK refuses both events without their counts; a zero stands for a missing count, and is estimated later. */
function withUsage(value: Fields): Fields {
  const message = record(value['message']);
  if (value['type'] === 'message_delta') return { ...value, usage: counted(value['usage'], 'output_tokens') };
  if (value['type'] !== 'message_start' || !message) return value;
  return { ...value, message: { ...message, usage: counted(message['usage'], 'input_tokens') } };
}

function counted(usage: unknown, key: string): Fields {
  const told = record(usage) ?? {};
  return { ...told, [key]: typeof told[key] === 'number' ? told[key] : 0 };
}

/** Returns the events in which a block of an answer would have streamed. */
function eventsOfBlock(block: unknown, index: number): Fields[] {
  const { type, text, thinking, signature } = record(block) ?? {};
  const delta = (fields: Fields) => ({ type: 'content_block_delta', index, delta: fields });
  const empty = type === 'text' ? { type, text: '' } : type === 'thinking' ? { type, thinking: '' } : block;
  return [
    { type: 'content_block_start', index, content_block: empty },
    ...(type === 'text' ? [delta({ type: 'text_delta', text })] : []),
    ...(type === 'thinking'
      ? [delta({ type: 'thinking_delta', thinking }), delta({ type: 'signature_delta', signature: signature ?? '' })]
      : []),
    { type: 'content_block_stop', index },
  ];
}

/** Combines several events into one. */
function together(parts: readonly object[]): WireEvent {
  const [data = null, ...more] = parts.map(exactText);
  return { data, more, state: 'ended', error: null };
}

/** A complete body that is no answer: an error, or nothing readable. */
function noAnswer(value: unknown): WireEvent {
  const error = record(value)?.['type'] === 'error' ? wordsIn(value) : bareError(value);
  return { data: null, state: 'ended', error };
}
