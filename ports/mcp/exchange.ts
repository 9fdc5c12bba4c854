import { AsyncLocalStorage } from 'node:async_hooks';
import {
  SSEClientTransport,
  StreamableHTTPClientTransport,
  type JSONRPCMessage,
  type Tool,
  type TransportSendOptions,
} from '@modelcontextprotocol/client';
import { EgressUnreachable } from '../egress/egress.ts';
import { toMcpError } from './errors.ts';
import type { createMcpFetch, McpFetchOptions, WireState } from './fetch.ts';
import { listedNames, unreadableTool, withReadableTools } from './listing.ts';

interface Operation extends WireState {
  /** The request that is waiting for its answer. */
  asked: unknown;
  readonly cut: (reason: Error) => void;
  /** Aborted when the exchange has ended, for whatever reason: open requests of it are closed then. */
  readonly over: AbortSignal;
  /** Names of the tools that were listed for it. */
  readonly listed: string[];
}

const operations = new AsyncLocalStorage<Operation>();
/** Ends the request that is being sent when its exchange ends. */
const requests = new AsyncLocalStorage<AbortSignal | null>();
const maxOperationBytes = 32 * 1024 * 1024;
const lingerMs = 5_000;

/** What the current exchange has seen of the wire, and what ends its request; for the client's `fetch`. */
export const wireNow: Pick<McpFetchOptions, 'wire' | 'over'> = {
  wire: () => operations.getStore(),
  over: () => requests.getStore() ?? null,
};

/** Either transport to a server. */
export type Transport = StreamableHTTPClientTransport | SSEClientTransport;

/** Opens a transport whose requests end with the exchange that sends them. */
export function openTransport(url: URL, kind: 'http' | 'sse', fetch: ReturnType<typeof createMcpFetch>): Transport {
  const transport =
    kind === 'sse'
      ? new SSEClientTransport(url, { fetch })
      : new StreamableHTTPClientTransport(url, {
          fetch,
          onInsufficientScope: 'throw',
          reconnectionOptions: {
            initialReconnectionDelay: 500,
            maxReconnectionDelay: 5_000,
            reconnectionDelayGrowFactor: 2,
            maxRetries: 2,
          },
        });
  const send: (message: JSONRPCMessage, options?: TransportSendOptions) => Promise<void> = transport.send.bind(transport);
  transport.send = (message: JSONRPCMessage, options?: TransportSendOptions) => {
    const asking = operations.getStore();
    if (!asking || !isRequest(message)) return requests.run(null, () => send(message, options));
    asking.asked = message;
    // A stream may end without its answer: before 2026-07-28 the protocol's client would wait for its timeout.
    const onRequestStreamEnd = () => {
      options?.onRequestStreamEnd?.();
      // If the answer has arrived, it has been processed by then, and the next request of the exchange has left.
      setImmediate(() => asking.asked === message && asking.cut(new EgressUnreachable('cut')));
    };
    // The same client would leave the stream of an abandoned request open, or reopen it.
    const requestSignal = AbortSignal.any([asking.over, ...(options?.requestSignal ? [options.requestSignal] : [])]);
    return requests.run(asking.over, () => send(message, { ...options, requestSignal, onRequestStreamEnd }));
  };
  return transport;
}

function isRequest(message: JSONRPCMessage): boolean {
  return 'method' in message && 'id' in message;
}

/** Every message of a connected transport passes through here before the SDK validates it. */
export function hearReadableTools(transport: Transport): void {
  const hear = transport.onmessage;
  // oxlint-disable-next-line unicorn/prefer-add-event-listener -- the SDK has no other way
  transport.onmessage = (message: JSONRPCMessage) => {
    const readable = withReadableTools(message);
    operations.getStore()?.listed.push(...listedNames(readable));
    hear?.(readable);
  };
}

/** Returns the tools that the SDK removes from a list, as the protocol of 2026-07-28 requires; called within the exchange that has listed them. */
export function withheld(tools: readonly Tool[]): Tool[] {
  const given = new Set(tools.map(({ name }) => name));
  const listed = operations.getStore()?.listed ?? [];
  const missing = listed.filter((name) => !given.has(name));
  return missing.map((name) => unreadableTool(name, 'names headers for its arguments (x-mcp-header) in a way that the protocol forbids'));
}

/** What ends an exchange, and what it sends along. */
export interface OperationParts {
  readonly signal: AbortSignal;
  readonly headers: Readonly<Record<string, string>> | null;
  readonly death: AbortSignal;
  readonly hadMcpSession: boolean;
  /** Only the deadline ends a handshake: it consists of several requests, each of which may end early. */
  readonly isCuttable: boolean;
}

/**
 * Runs one exchange, which ends on the caller's signal, at the end of its stream, or at that of the whole connection. None of its requests stays open after
 * that. Throws McpError, McpTooMuch, the guard's errors or the signal's reason.
 */
export async function operation<R>(
  work: (signal: AbortSignal) => Promise<R>,
  { signal, headers, death, hadMcpSession, isCuttable }: OperationParts,
): Promise<R> {
  signal.throwIfAborted();
  const ended = new AbortController();
  const over = new AbortController();
  const asked: Operation = {
    headers,
    leftBytes: maxOperationBytes,
    status: null,
    challenge: null,
    failure: null,
    asked: null,
    over: over.signal,
    listed: [],
    cut: (reason) => isCuttable && ended.abort(asked.failure ?? reason),
  };
  const any = AbortSignal.any([signal, ended.signal, death]);
  let isDone = false;
  try {
    const result = await orAborted(
      operations.run(asked, () => work(any)),
      any,
    );
    isDone = true;
    return result;
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    if (ended.signal.aborted) throw ended.signal.reason;
    throw toMcpError(error, { wire: asked, hadMcpSession });
  } finally {
    // A stream that has delivered its answer ends by itself, and its connection serves the next request.
    if (isDone) setTimeout(() => over.abort(), lingerMs).unref();
    else over.abort();
  }
}

function orAborted<R>(work: Promise<R>, signal: AbortSignal): Promise<R> {
  return new Promise<R>((resolve, reject) => {
    const give = () => reject(signal.reason);
    signal.addEventListener('abort', give, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', give));
  });
}
