import type { Readable } from 'node:stream';
import type { FetchLike } from '@modelcontextprotocol/client';
import { toEgressError, type Egress, type EgressPolicy } from '../egress/egress.ts';
import { createNumberMarker } from './numbers.ts';

/** A server that sends more than a client can hold. The message is for users. */
export class McpTooMuch extends Error {
  override readonly name = 'McpTooMuch';

  constructor() {
    super('the server sent more than a client takes');
  }
}

/** What one operation of a client sends along and has seen of the wire. */
export interface WireState {
  /** Credentials of this operation; null: those of the client. */
  readonly headers: Readonly<Record<string, string>> | null;
  /** Bytes that may still be read for it. */
  leftBytes: number;
  /** Status of the last answer to a POST. */
  status: number | null;
  /** `WWW-Authenticate` of the last 401. */
  challenge: string | null;
  /** The error that broke the body of an answer: the transport passes it on only as text. */
  failure: unknown;
}

export interface McpFetchOptions {
  readonly egress: Egress;
  readonly policy: EgressPolicy;
  /** Headers of the toolkit's author (credentials), read anew at each request. */
  readonly headers: () => Readonly<Record<string, string>>;
  /** The current operation, if any. */
  readonly wire: () => WireState | undefined;
  /** Ends the current request, in addition to its own signal. */
  readonly over?: () => AbortSignal | null;
}

/** Maximum bytes of a single JSON body or a single event. */
const maxMessageBytes = 10 * 1024 * 1024;
/** Longer than any tool may take: each caller has its own deadline. */
const headersTimeoutMs = 15 * 60_000;

/**
 * Returns the `fetch` of the MCP client, through the egress guard: no redirect, no cookie, bounded bodies, event streams as they arrive, with tags
 * (`tagInexact`) for the numbers that the client would change. Headers of the author never replace those of the protocol.
 */
export function createMcpFetch({ egress, policy, headers: authorHeaders, wire: currentWire, over }: McpFetchOptions): FetchLike {
  return async (input, init = {}) => {
    const wire = currentWire();
    const signal = AbortSignal.any([init.signal, over?.()].filter((each) => each instanceof AbortSignal));
    const answer = await egress.open({
      method: init.method ?? 'GET',
      url: String(input),
      headers: { ...lowerCased(wire?.headers ?? authorHeaders()), ...Object.fromEntries(new Headers(init.headers)) },
      ...(init.body === undefined || init.body === null ? {} : { body: bodyText(init.body) }),
      policy,
      redirects: 0,
      headersTimeoutMs,
      signal,
    });
    const { status, headers } = answer;
    if (wire && init.method === 'POST') wire.status = status;
    if (wire && status === 401) wire.challenge = headers['www-authenticate'] ?? null;
    const bodyless = [204, 205, 304].includes(status);
    if (bodyless) answer.body.destroy();

    const isStream = (headers['content-type'] ?? '').toLowerCase().startsWith('text/event-stream');
    const body = bodyless ? null : bound(answer.body, { isStream, wire, translate: (error) => toEgressError(error, signal) });
    return new Response(body, { status, headers: replyHeaders(headers) });
  };
}

interface Bounds {
  readonly isStream: boolean;
  readonly wire: WireState | undefined;
  readonly translate: (error: unknown) => unknown;
}

/** A body or an event may be as large as one message; the total that an operation reads is bounded too. */
function bound(body: Readable, { isStream, wire, translate }: Bounds): ReadableStream<Uint8Array> {
  let size = 0;
  let tail = '';
  const parts = body[Symbol.asyncIterator]() as AsyncIterator<Buffer>; // undici yields buffers
  const marker = createNumberMarker(isStream);
  const count = (part: Buffer): void => {
    size += part.length;
    if (wire) wire.leftBytes -= part.length;
    if (isStream) {
      const text = tail + part.toString('latin1');
      const end = Math.max(text.lastIndexOf('\n\n'), text.lastIndexOf('\r\n\r\n'), text.lastIndexOf('\r\r'));
      if (end >= 0) size = text.length - end;
      tail = text.slice(-4);
    }
    if (size > maxMessageBytes || (wire && wire.leftBytes < 0)) throw new McpTooMuch();
  };
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        for (let given = 0; given === 0;) {
          const { value, done } = await parts.next();
          if (!done) count(value);
          const bytes = done ? marker.end() : marker.push(value);
          if (bytes.length > 0) controller.enqueue(bytes);
          if (done) return controller.close();
          given = bytes.length;
        }
      } catch (error) {
        body.destroy();
        const failure = error instanceof McpTooMuch ? error : translate(error);
        if (wire) wire.failure = failure;
        controller.error(failure);
      }
    },
    cancel() {
      body.destroy();
    },
  });
}

function bodyText(body: NonNullable<RequestInit['body']>): string {
  if (typeof body === 'string') return body;
  if (body instanceof URLSearchParams) return body.toString();
  throw new TypeError('a body that is neither text nor a form');
}

/** Lengths and encodings of the wire do not apply to the body that is passed on. */
function replyHeaders(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).filter(([name]) => !['content-length', 'transfer-encoding', 'connection'].includes(name)),
  );
}

function lowerCased(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}
