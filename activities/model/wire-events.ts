import { parsedJson, record, wordsIn } from './provider-words.ts';
import type { WireEvent, WireProtocol } from './wire.ts';

/** Responses of OpenAI: the SDK reads its events as they are; its end is said by the last of them, not by the connection. */
export class ResponsesWire implements WireProtocol {
  readonly warnings: readonly string[] = [];

  read(data: string): WireEvent {
    if (data.trim() === '[DONE]') return { data: null, state: 'ended', fault: null };
    const value = record(parsedJson(data));
    const type = value?.['type'];
    if (type === 'error' || type === 'response.failed' || isBare(value)) return { data, state: 'open', fault: wordsIn(value) };
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
    if (type === 'error' || isBare(value)) return { data, state: 'open', fault: wordsIn(value) };
    const reason = type === 'message_delta' ? record(value?.['delta'])?.['stop_reason'] : null;
    if (typeof reason === 'string' && reason !== '') return { data, more: '{"type":"message_stop"}', state: 'ended', fault: null };
    return { data, state: type === 'message_stop' ? 'ended' : 'open', fault: null };
  }

  whole(value: unknown): WireEvent {
    return wholeOf(value);
  }
}

/** An error without the envelope of its protocol, as gateways send it. */
function isBare(value: Readonly<Record<string, unknown>> | null): boolean {
  return value !== null && value['type'] === undefined && (value['error'] ?? value['detail'] ?? null) !== null;
}

/** These two always stream: what comes in one piece is an error or nothing that can be read. */
function wholeOf(value: unknown): WireEvent {
  const fields = record(Array.isArray(value) ? value[0] : value);
  const isError = fields !== null && (fields['type'] === 'error' || isBare(fields) || typeof fields['message'] === 'string');
  return { data: null, state: 'ended', fault: isError ? wordsIn(value) : null };
}
