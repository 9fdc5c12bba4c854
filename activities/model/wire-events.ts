import { bareError, parsedJson, record, wordsIn } from './provider-words.ts';
import type { WireEvent, WireProtocol } from './wire.ts';

/** Responses of OpenAI: the SDK reads its events as they are; its end is said by the last of them, not by the connection. */
export class ResponsesWire implements WireProtocol {
  readonly warnings: readonly string[] = [];

  read(data: string): WireEvent {
    if (data.trim() === '[DONE]') return { data: null, state: 'ended', fault: null };
    const value = record(parsedJson(data));
    const type = value?.['type'];
    if (type === 'error' || type === 'response.failed') return { data, state: 'open', fault: wordsIn(value) };
    if (type === undefined || value?.['object'] === 'error') return { data, state: 'open', fault: bareError(parsedJson(data)) };
    return { data, state: type === 'response.completed' || type === 'response.incomplete' ? 'ended' : 'open', fault: null };
  }

  whole(value: unknown): WireEvent {
    return wholeOf(value);
  }
}

/** Messages of Anthropic: with its reason to stop comes its usage, and only an end mark without content would follow. */
export class MessagesWire implements WireProtocol {
  readonly warnings: readonly string[] = [];

  read(data: string): WireEvent {
    const value = record(parsedJson(data));
    const type = value?.['type'];
    if (type === 'error') return { data, state: 'open', fault: wordsIn(value) };
    if (type === undefined || value?.['object'] === 'error') return { data, state: 'open', fault: bareError(parsedJson(data)) };
    const reason = type === 'message_delta' ? record(value?.['delta'])?.['stop_reason'] : null;
    if (typeof reason === 'string' && reason !== '') return { data, more: '{"type":"message_stop"}', state: 'ended', fault: null };
    return { data, state: type === 'message_stop' ? 'ended' : 'open', fault: null };
  }

  whole(value: unknown): WireEvent {
    return wholeOf(value);
  }
}

/** These two always stream: what comes in one piece is an error or nothing that can be read. */
function wholeOf(value: unknown): WireEvent {
  const fault = record(value)?.['type'] === 'error' ? wordsIn(value) : bareError(value);
  return { data: null, state: 'ended', fault };
}
