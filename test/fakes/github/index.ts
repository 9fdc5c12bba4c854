import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { tokenOf } from './auth.ts';
import { answerFaults, bodyFaults, describe, queryFaults } from './description.ts';
import { serveGit } from './git-server.ts';
import { answerGraphql } from './graphql.ts';
import { invalid, notFound, Refusal } from './refusal.ts';
import { answerRest } from './rest.ts';
import { createState, type FakeRepository, type HostState } from './state.ts';

type Json = Record<string, any>;

/** A request that came. `wrote`: it was a write that the host has done. */
export interface HostRequest {
  readonly method: string;
  readonly path: string;
  readonly route: string;
  readonly body: Json;
  readonly headers: IncomingMessage['headers'];
  status: number;
  wrote: boolean;
}

/** What goes wrong with a request. `before`: answered so in place of acting; `after`: it acts, and this is the answer; `drop`: it acts, and the connection ends. */
export interface HostFault {
  readonly delayMs?: number;
  readonly before?: number;
  readonly after?: number;
  readonly drop?: boolean;
  readonly headers?: Readonly<Record<string, string>>;
  readonly message?: string;
}

/** A Git host as GitHub describes its own, over real repositories. */
export interface GitHubHost {
  readonly origin: string;
  readonly env: Readonly<Record<string, string>>;
  readonly state: HostState;
  /** Where repositories lie. */
  readonly folder: string;
  readonly requests: HostRequest[];
  /** Requests that changed something. */
  writes(): HostRequest[];
  /** What of its own answers GitHub's description does not allow; a test expects none. */
  readonly mistakes: string[];
  /** Asked for each request before it is served; acts for what it gives. */
  onRequest: ((request: HostRequest) => HostFault | null | void | Promise<HostFault | null | void>) | null;
  /** Called when a request has been served and its answer has not left. */
  onServed: ((request: HostRequest) => void | Promise<void>) | null;
  onPush: ((repository: FakeRepository) => void | Promise<void>) | null;
  close(): void;
}

interface HostReply {
  readonly status: number;
  readonly data: Json | null;
  readonly headers?: Readonly<Record<string, string>>;
}

export async function startGitHubHost(): Promise<GitHubHost> {
  const folder = mkdtempSync(join(tmpdir(), 'lh-github-'));
  const state = createState();
  const server = createServer((request, response) => void take(request, response).catch(() => response.destroy()));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo; // listening on TCP
  const origin = `http://127.0.0.1:${port}`;
  const requests: HostRequest[] = [];
  const host: GitHubHost = {
    origin,
    env: { GITHUB_API_URL: `${origin}/api`, GITHUB_GIT_URL: `${origin}/git` },
    state,
    folder,
    requests,
    writes: () => requests.filter(({ wrote }) => wrote),
    mistakes: [],
    onRequest: null,
    onServed: null,
    onPush: null,
    close() {
      server.closeAllConnections();
      server.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
  return host;

  async function take(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    response.on('error', () => undefined);
    const url = new URL(incoming.url ?? '/', origin);
    const isGit = url.pathname.startsWith('/git/');
    const body = isGit ? {} : await readJson(incoming);
    const path = url.pathname.replace(/^\/(?:git|api)/, '');
    const method = incoming.method ?? 'GET';
    const described = isGit ? null : describe(method, path);
    const route = isGit ? `git ${path}` : (described?.route ?? `${method} ${path}`);
    const request: HostRequest = { method, path, route, body, headers: incoming.headers, status: 0, wrote: false };
    requests.push(request);

    const fault = (await host.onRequest?.(request)) ?? null;
    if (fault?.delayMs !== undefined) await new Promise((resolve) => setTimeout(resolve, fault.delayMs));
    if (fault?.before !== undefined) return refuse(request, response, fault.before, fault);
    if (isGit) return serveRepository(request, incoming, response);

    const answer = await answerOf({ request, url, authorization: incoming.headers.authorization, params: described?.params ?? {} });
    request.status = answer.status;
    request.wrote = answer.status < 300 && method !== 'GET' && !/access_tokens|^POST \/graphql$/.test(route);
    if (route === 'POST /graphql' && /^\s*mutation\b/.test(String(body['query']))) request.wrote = answer.data?.errors === undefined;
    await host.onServed?.(request);
    if (fault?.drop) return void response.destroy();
    if (fault?.after !== undefined) return refuse(request, response, fault.after, fault);
    return reply(request, response, answer);
  }

  async function serveRepository(request: HostRequest, incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    incoming.url = (incoming.url ?? '').replace(/^\/git/, '');
    const pushed = await serveGit(state, incoming, response);
    request.status = response.statusCode;
    request.wrote = pushed !== null;
    if (pushed) await host.onPush?.(pushed);
  }

  interface Asked {
    readonly request: HostRequest;
    readonly url: URL;
    readonly authorization: string | undefined;
    readonly params: Readonly<Record<string, string>>;
  }

  async function answerOf({ request, url, authorization, params }: Asked): Promise<HostReply> {
    const { route, method, body } = request;
    try {
      if (route === 'POST /graphql') {
        const token = tokenOf(state, authorization);
        return {
          status: 200,
          data: await answerGraphql(state, { token, query: String(body['query']), variables: body['variables'] ?? {} }),
        };
      }
      const described = describe(method, request.path);
      if (!described) throw notFound();
      const faults = queryFaults(route, url.searchParams) ?? (method === 'GET' ? null : bodyFaults(route, body));
      if (faults !== null) throw invalid(`Invalid request.\n\n${faults}`);
      const answer = await answerRest(state, { route, authorization, params, query: url.searchParams, body });
      const status = answer.status ?? described.success;
      const mistake = answerFaults(route, status, answer.data);
      if (mistake !== null) host.mistakes.push(`${route}: ${mistake}`);
      return { status, data: answer.data as Json, headers: answer.headers ?? {} };
    } catch (error) {
      if (!(error instanceof Refusal)) host.mistakes.push(`${route}: ${String(error instanceof Error ? error.stack : error)}`);
      const { status, message, errors } = error instanceof Refusal ? error : new Refusal(500, 'the fake has failed');
      return {
        status,
        data: {
          message,
          ...(errors.length === 0 ? {} : { errors }),
          documentation_url: 'https://docs.github.com/rest',
          status: String(status),
        },
      };
    }
  }

  function refuse(
    request: HostRequest,
    response: ServerResponse,
    status: number,
    { headers = {}, message = 'Server Error' }: HostFault,
  ): void {
    request.status = status;
    response.writeHead(status, { 'content-type': 'application/json', ...standardHeaders(), ...headers });
    response.end(JSON.stringify({ message }));
  }

  function reply(request: HostRequest, response: ServerResponse, { status, data, headers: own = {} }: HostReply): void {
    const text = data === null ? '' : JSON.stringify(data);
    const etag = `"${createHash('sha256').update(text).digest('hex')}"`;
    const headers = {
      'content-type': 'application/json; charset=utf-8',
      ...standardHeaders(),
      ...own,
      ...(request.method === 'GET' ? { etag } : {}),
    };
    if (request.method === 'GET' && request.headers['if-none-match'] === etag) {
      request.status = 304;
      response.writeHead(304, headers).end();
      return;
    }
    response.writeHead(status, headers).end(text);
  }

  function standardHeaders(): Record<string, string> {
    const now = state.now();
    return {
      'date': now.toUTCString(),
      'x-github-request-id': 'FAKE:1',
      'x-ratelimit-limit': '5000',
      'x-ratelimit-remaining': '4990',
      'x-ratelimit-reset': String(Math.floor(now.getTime() / 1_000) + 3_600),
    };
  }
}

async function readJson(incoming: IncomingMessage): Promise<Json> {
  let raw = '';
  for await (const part of incoming) raw += String(part);
  try {
    return raw === '' ? {} : JSON.parse(raw);
  } catch {
    return {};
  }
}
