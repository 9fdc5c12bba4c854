import {
  Client,
  SSEClientTransport,
  StreamableHTTPClientTransport,
  type CallToolResult,
  type JsonSchemaValidator,
  type jsonSchemaValidator,
  type Tool,
} from '@modelcontextprotocol/client';
import { EgressUnreachable, type Egress } from '../egress/egress.ts';
import { isPageUrl, type EgressPolicy } from '../egress/url.ts';
import { McpError } from './errors.ts';
import { openTransport, operation, wireNow, withheld, hearReadableTools, type Transport } from './exchange.ts';
import { createMcpFetch } from './fetch.ts';
import { deadlineIn } from '../deadline.ts';

/** The address of an MCP server. */
export interface McpTarget {
  readonly url: string;
  readonly transport: 'auto' | 'http' | 'sse';
  readonly policy: EgressPolicy;
}

export interface McpPatience {
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  /** Credentials of only this exchange; otherwise those that the session holds. */
  readonly headers?: Readonly<Record<string, string>>;
}

export interface McpServerFacts {
  readonly transport: 'http' | 'sse';
  readonly protocolVersion: string;
  readonly server: Readonly<Record<string, unknown>> | null;
  readonly instructions: string | null;
}

/** A connected client of one server. Its errors: McpError, McpTooMuch, those of the egress guard, or the signal's reason. */
export interface McpSession extends McpServerFacts {
  /** Whether the connection can no longer be used. */
  readonly isDead: () => boolean;
  /** Sets the credentials of all later requests. */
  setHeaders(headers: Readonly<Record<string, string>>): void;
  /** Returns every tool that the server offers, bypassing any cache; a tool that can't be used is replaced by one that holds the reason (`unreadableOf`). */
  listTools(patience: McpPatience): Promise<Tool[]>;
  /**
   * `tool` is the pinned descriptor: its parameters that mirror into headers are sent there. The result holds tags (`tagInexact`) for numbers that a double
   * would change.
   */
  callTool(call: McpCall, patience: McpPatience): Promise<CallToolResult>;
  /** Ends the session on the server too, if it answers. */
  close(): Promise<void>;
}

export interface McpCall {
  readonly name: string;
  readonly args: Readonly<Record<string, unknown>>;
  readonly inputSchema: Readonly<Record<string, unknown>>;
}

export interface McpConnectOptions extends Omit<McpPatience, 'headers'> {
  readonly headers: Readonly<Record<string, string>>;
  /** Called when the server announces that its tools have changed. */
  readonly onToolsChanged?: () => void;
}

const clientInfo = { name: 'longhaul', version: '1.0.0' };
const maxPages = 20;
const closeTimeoutMs = 2_000;
/** Statuses of a server that knows only the older transport. */
const olderTransport: readonly number[] = [400, 404, 405];

// A server's outputSchema is never applied here: a caller that wants a result validated does so in the pool for schemas of strangers.
const trustingValidator: jsonSchemaValidator = {
  getValidator<T>(): JsonSchemaValidator<T> {
    return (input) => ({ valid: true, data: input as T, errorMessage: undefined }); // the caller's type, which nothing here checks
  },
};

/**
 * Connects: tries `server/discover` first, then initialize, with protocol versions 2024-10-07 to 2026-07-28; over Streamable HTTP, or the older SSE transport
 * when initialize gets 400, 404 or 405. Declares no capability: a request for input is an error.
 */
export async function connectMcp(egress: Egress, target: McpTarget, options: McpConnectOptions): Promise<McpSession> {
  if (target.transport === 'sse') return connect(egress, target, 'sse', options);
  try {
    return await connect(egress, target, 'http', options);
  } catch (error) {
    const isOlder = error instanceof McpError && error.kind === 'status' && olderTransport.includes(error.code ?? 0);
    if (target.transport !== 'auto' || !isOlder) throw error;
    return connect(egress, target, 'sse', options);
  }
}

async function connect(egress: Egress, target: McpTarget, kind: 'http' | 'sse', options: McpConnectOptions): Promise<McpSession> {
  let headers = options.headers;
  const fetch = createMcpFetch({ egress, policy: target.policy, headers: () => headers, ...wireNow });
  const transport = openTransport(new URL(target.url), kind, fetch);
  const client = new Client(clientInfo, {
    capabilities: {},
    versionNegotiation: { mode: kind === 'sse' ? 'legacy' : 'auto' },
    inputRequired: { autoFulfill: false },
    jsonSchemaValidator: trustingValidator,
    listMaxPages: maxPages,
  });
  const death = new AbortController();
  let isConnected = false;
  const die = () => death.abort(new EgressUnreachable('closed'));
  // Over SSE every answer arrives on the one stream: without it no further answer can come.
  // oxlint-disable-next-line unicorn/prefer-add-event-listener -- the SDK has no other way
  client.onerror = (error) => kind === 'sse' && error.name === 'SseError' && die();
  client.setNotificationHandler('notifications/tools/list_changed', () => options.onToolsChanged?.());

  const operate = <R>(work: (signal: AbortSignal) => Promise<R>, { signal, headers: own }: McpPatience): Promise<R> =>
    operation(work, {
      signal,
      headers: own ?? null,
      death: death.signal,
      hadMcpSession: isConnected && hasMcpSession(transport),
      isCuttable: isConnected,
    });
  try {
    await operate((signal) => client.connect(transport, { timeout: options.timeoutMs, signal }), {
      timeoutMs: options.timeoutMs,
      signal: AbortSignal.any([options.signal, deadlineIn(options.timeoutMs)]),
    });
  } catch (error) {
    await client.close().catch(() => undefined);
    await transport.close().catch(() => undefined);
    if (!options.signal.aborted && error instanceof DOMException && error.name === 'TimeoutError')
      throw new McpError('timed_out', 'the server did not answer in time');
    throw error;
  }
  isConnected = true;
  hearReadableTools(transport);
  // oxlint-disable-next-line unicorn/prefer-add-event-listener -- the SDK has no other way
  client.onclose = die;
  if (client.getProtocolEra() === 'modern' && client.getServerCapabilities()?.tools?.listChanged)
    void client.listen({ toolsListChanged: true }).catch(() => undefined); // announcements are wanted, not needed

  return {
    transport: kind,
    protocolVersion: client.getNegotiatedProtocolVersion() ?? 'unknown',
    server: serverFacts(client.getServerVersion(), target.policy),
    instructions: client.getInstructions()?.slice(0, 8_000) ?? null,
    isDead: () => death.signal.aborted,
    setHeaders: (fresh) => {
      headers = fresh;
    },
    listTools: (patience) =>
      operate(async (signal) => {
        const { tools } = await client.listTools(undefined, { cacheMode: 'bypass', signal, timeout: patience.timeoutMs });
        return [...tools, ...withheld(tools)];
      }, patience),
    callTool: ({ name, args, inputSchema }, patience) =>
      operate(
        (signal) =>
          client.callTool(
            { name, arguments: { ...args } },
            // The descriptor was approved as an object schema; the SDK's type is equivalent.
            { signal, timeout: patience.timeoutMs, toolDefinition: { name, inputSchema: inputSchema as Tool['inputSchema'] } },
          ),
        patience,
      ),
    close: () => closeAll(client, transport),
  };
}

const maxFactChars = 200;

/**
 * Returns the server's own name and version, short and storable; icons and other fields may be of any size, and a website that is no web address is dropped.
 */
function serverFacts(told: Readonly<Record<string, unknown>> | undefined, policy: EgressPolicy): Record<string, string> | null {
  if (told === undefined) return null;
  const facts = ['name', 'title', 'version', 'websiteUrl'].flatMap((field) => {
    const value = told[field];
    if (typeof value !== 'string' || (field === 'websiteUrl' && !isPageUrl(value, policy))) return [];
    return [[field, value.slice(0, maxFactChars).toWellFormed().replaceAll('\0', '\uFFFD')] as const];
  });
  return Object.fromEntries(facts);
}

function hasMcpSession(transport: Transport): boolean {
  return transport instanceof SSEClientTransport || transport.sessionId !== undefined;
}

async function closeAll(client: Client, transport: Transport): Promise<void> {
  if (transport instanceof StreamableHTTPClientTransport && transport.sessionId !== undefined) {
    const late = new Promise((resolve) => setTimeout(resolve, closeTimeoutMs).unref());
    await Promise.race([transport.terminateSession().catch(() => undefined), late]);
  }
  await client.close().catch(() => undefined);
}
