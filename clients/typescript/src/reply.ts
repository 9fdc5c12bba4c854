import { ApiError, unreadable } from './errors.ts';
import type { Operation } from './operation.ts';
import type { Answer } from './transport.ts';

/** What a reply said beside its value. */
export interface ReplyFacts {
  readonly status: number;
  readonly headers: Headers;
}

const facts = new WeakMap<object, ReplyFacts>();

/** Status and headers of the reply that a call gave this value from; null for anything else. */
export function replyOf(value: object): ReplyFacts | null {
  return facts.get(value) ?? null;
}

/** The version that a value was read with, for `ifMatch`; undefined where the operation names none. */
export function etagOf(value: object): string | undefined {
  return facts.get(value)?.headers.get('etag') ?? undefined;
}

/** The value of a call. Nothing is checked: fields and values that this client does not know pass through. */
export function valueOf(operation: Operation, { reply, text }: Answer): unknown {
  if (operation.reply === 'raw') return reply;
  if (operation.reply === 'text') return text;
  if (text === '') return undefined;
  const type = reply.headers.get('content-type') ?? '';
  if (type.startsWith('text/plain')) return text;
  const value = parsed(reply, text);
  if (typeof value === 'object' && value !== null) facts.set(value, { status: reply.status, headers: reply.headers });
  return value;
}

function parsed(reply: Response, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new ApiError(unreadable(reply));
  }
}
