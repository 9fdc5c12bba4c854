import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { SSEServerTransport } from '@modelcontextprotocol/sdk/server/sse.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { CallToolRequestSchema, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { createMcpHandler, Server as ModernServer } from '@modelcontextprotocol/server';

export type FakeEra = 'streamable' | 'sse' | 'modern';

export interface FakeTool {
  name: string;
  title?: string;
  description?: string;
  inputSchema: { type: 'object'; [key: string]: unknown };
  outputSchema?: { type: 'object'; [key: string]: unknown };
  annotations?: Record<string, unknown>;
}

export interface FakeResult {
  content: unknown[];
  structuredContent?: Record<string, unknown>;
  isError?: boolean;
}

/** An MCP server made of the official packages: the older one (sessions, SSE) and that of 2026-07-28. */
export interface FakeMcpServer {
  readonly url: string;
  readonly port: number;
  tools: FakeTool[];
  answer: (name: string, args: Record<string, unknown>) => FakeResult | Promise<FakeResult>;
  /** Whether a request's bearer token (null: none) is accepted. */
  accepts: (token: string | null) => boolean;
  /** Sent with a 401. */
  challenge: string;
  /** Answers a request before the protocol sees it; false lets it through. */
  before: (request: IncomingMessage, response: ServerResponse, body: string) => boolean | Promise<boolean>;
  /** JSON-RPC methods in the order in which they were accepted. */
  readonly methods: string[];
  readonly calls: { name: string; args: Record<string, unknown> }[];
  readonly headers: IncomingMessage['headers'][];
  /** Forgets every session, as a process that was started anew. */
  restart(): void;
  tellToolsChanged(): Promise<void>;
  readonly openSessions: () => number;
  close(): Promise<void>;
}

export async function startMcpServer(era: FakeEra): Promise<FakeMcpServer> {
  const methods: string[] = [];
  const calls: FakeMcpServer['calls'] = [];
  const headers: FakeMcpServer['headers'] = [];
  const listing = () => ({ tools: fake.tools });
  const calling = async ({ params }: { params: { name: string; arguments?: Record<string, unknown> } }) => {
    calls.push({ name: params.name, args: params.arguments ?? {} });
    return fake.answer(params.name, params.arguments ?? {});
  };
  const door =
    era === 'modern' ? modernDoor(listing, calling) : era === 'sse' ? sseDoor(listing, calling) : streamableDoor(listing, calling);
  const server = createServer((request, response) => {
    void serve(request, response).catch(() => response.destroy());
  });
  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    const body = Buffer.concat(parts).toString();
    headers.push(request.headers);
    const token = /^Bearer (.+)$/i.exec(request.headers.authorization ?? '')?.[1] ?? null;
    if (await fake.before(request, response, body)) return;
    if (!fake.accepts(token)) {
      response.writeHead(401, { 'www-authenticate': fake.challenge }).end();
      return;
    }
    if (body !== '') for (const message of [JSON.parse(body)].flat()) if (typeof message.method === 'string') methods.push(message.method);
    await door.handle(request, response, body);
  }
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const fake: FakeMcpServer = {
    url: `http://127.0.0.1:${port}/mcp`,
    port,
    tools: [structuredClone(echoTool)], // a test may change it
    answer: (_name, args) => ({ content: [{ type: 'text', text: `echo ${String(args['text'])}` }] }),
    accepts: () => true,
    challenge: 'Bearer',
    before: () => false,
    methods,
    calls,
    headers,
    restart: () => door.forget(),
    tellToolsChanged: () => door.tell(),
    openSessions: () => door.count(),
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return fake;
}

export const echoTool: FakeTool = {
  name: 'echo',
  description: 'Says it again',
  inputSchema: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
  annotations: { readOnlyHint: true },
};

/** Keeps a request open without a word until the client goes. */
export async function hang(request: IncomingMessage): Promise<boolean> {
  while (!request.socket.destroyed) await delay(20);
  return true;
}

interface Door {
  handle(request: IncomingMessage, response: ServerResponse, body: string): Promise<void>;
  forget(): void;
  tell(): Promise<void>;
  count(): number;
}

type Listing = () => { tools: FakeTool[] };
type Calling = (request: { params: { name: string; arguments?: Record<string, unknown> } }) => Promise<FakeResult>;

function olderServer(listing: Listing, calling: Calling): Server {
  const server = new Server({ name: 'fake', version: '1.32.0' }, { capabilities: { tools: { listChanged: true } } });
  server.setRequestHandler(ListToolsRequestSchema, listing);
  server.setRequestHandler(CallToolRequestSchema, async (request) => ({ ...(await calling(request)) }));
  return server;
}

function streamableDoor(listing: Listing, calling: Calling): Door {
  const sessions = new Map<string, { transport: StreamableHTTPServerTransport; server: Server }>();
  return {
    async handle(request, response, body) {
      const id = request.headers['mcp-session-id'];
      const known = typeof id === 'string' ? sessions.get(id) : undefined;
      if (typeof id === 'string' && !known) {
        response.writeHead(404, { 'content-type': 'application/json' }).end(JSON.stringify(rpcError('Session not found')));
        return;
      }
      const transport =
        known?.transport ??
        new StreamableHTTPServerTransport({
          sessionIdGenerator: () => randomUUID(),
          onsessioninitialized: (made) => void sessions.set(made, { transport, server }),
          onsessionclosed: (closed) => void sessions.delete(closed),
        });
      const server = known?.server ?? olderServer(listing, calling);
      if (!known) await server.connect(transport as never); // its optional members are declared otherwise
      await transport.handleRequest(request, response, body === '' ? undefined : JSON.parse(body));
    },
    forget: () => sessions.clear(),
    async tell() {
      for (const { server } of sessions.values()) await server.sendToolListChanged();
    },
    count: () => sessions.size,
  };
}

function sseDoor(listing: Listing, calling: Calling): Door {
  const sessions = new Map<string, { transport: SSEServerTransport; server: Server }>();
  return {
    async handle(request, response, body) {
      const { searchParams } = new URL(request.url ?? '/', 'http://fake');
      const session = sessions.get(searchParams.get('sessionId') ?? '');
      if (request.method === 'POST' && searchParams.has('sessionId')) {
        if (session) return session.transport.handlePostMessage(request, response, JSON.parse(body));
        response.writeHead(404).end();
        return;
      }
      if (request.method !== 'GET') {
        response.writeHead(405).end();
        return;
      }
      const transport = new SSEServerTransport('/messages', response);
      const server = olderServer(listing, calling);
      sessions.set(transport.sessionId, { transport, server });
      response.once('close', () => sessions.delete(transport.sessionId));
      await server.connect(transport);
    },
    forget() {
      for (const { transport } of sessions.values()) void transport.close();
      sessions.clear();
    },
    async tell() {
      for (const { server } of sessions.values()) await server.sendToolListChanged();
    },
    count: () => sessions.size,
  };
}

function modernDoor(listing: Listing, calling: Calling): Door {
  const handler = createMcpHandler(
    () => {
      const server = new ModernServer({ name: 'fake', version: '2.4.0' }, { capabilities: { tools: { listChanged: true } } });
      server.setRequestHandler('tools/list', () => listing() as never); // the fake's tools are plain objects
      server.setRequestHandler('tools/call', async (request) => (await calling(request as never)) as never);
      return server;
    },
    { legacy: 'reject' },
  );
  return {
    async handle(request, response, body) {
      const gone = new AbortController();
      response.once('close', () => gone.abort());
      const answer = await handler.fetch(
        new Request(`http://${request.headers.host}${request.url}`, {
          method: request.method,
          headers: Object.entries(request.headers).map(([name, value]) => [name, String(value)] as [string, string]),
          ...(body === '' ? {} : { body }),
          signal: gone.signal,
        }),
      );
      response.writeHead(answer.status, Object.fromEntries(answer.headers));
      if (answer.body) for await (const part of answer.body) response.write(part);
      response.end();
    },
    forget: () => undefined,
    tell: async () => handler.notify.toolsChanged(),
    count: () => 0,
  };
}

function rpcError(message: string) {
  return { jsonrpc: '2.0', error: { code: -32_001, message }, id: null };
}
