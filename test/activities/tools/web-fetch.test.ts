import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { createToolExecutor } from '../../../activities/tools/calls/execute.ts';
import type { ToolOutcome } from '../../../activities/tools/calls/outcome.ts';
import { createWebPages } from '../../../activities/tools/builtin/web-fetch.ts';
import { createEgress, type EgressPolicy } from '../../../ports/egress/egress.ts';
import { testWorkPool } from '../../support/work-pool.ts';

const egress = createEgress();
const pool = testWorkPool();
const pages = createWebPages(pool);
const executor = createToolExecutor({ egress, pages } as never); // reading pages uses nothing else
let server: Server;
let other: Server;
let origin = '';
let policy: EgressPolicy;
let hits: string[] = [];

const portOf = (listening: Server) => (listening.address() as AddressInfo).port; // it listens

beforeAll(async () => {
  other = createServer((request, response) => {
    hits.push(`other ${request.url}`);
    if (request.url === '/robots.txt') return void response.end('User-agent: *\nDisallow: /closed');
    response.writeHead(200, { 'content-type': 'text/plain' }).end('from elsewhere');
  });
  server = createServer((request, response) => {
    hits.push(request.url ?? '');
    if (request.url === '/robots.txt') return void response.writeHead(404).end();
    if (request.url === '/to-open') return void response.writeHead(302, { location: `http://localhost:${portOf(other)}/open` }).end();
    if (request.url === '/to-closed') return void response.writeHead(302, { location: `http://localhost:${portOf(other)}/closed` }).end();
    if (request.url === '/pdf') return void response.writeHead(200, { 'content-type': 'application/pdf' }).end('%PDF-1.7 and nothing more');
    if (request.url === '/png')
      return void response.writeHead(200, { 'content-type': 'image/png' }).end(Buffer.from([0x89, 0x50, 0x4e, 0x47, 0]));
    response.writeHead(200, { 'content-type': 'text/plain; charset=utf-8' }).end('a page');
  });
  for (const one of [server, other]) await new Promise<void>((resolve) => one.listen(0, '0.0.0.0', resolve));
  origin = `http://127.0.0.1:${portOf(server)}`;
  const exception = { allow_http: true };
  policy = {
    allowHttp: false,
    exceptions: [
      { ...exception, host: '127.0.0.1', port: portOf(server) },
      { ...exception, host: 'localhost', port: portOf(other) },
    ],
  };
});

beforeEach(() => {
  hits = [];
});

afterAll(async () => {
  for (const one of [server, other]) {
    one.closeAllConnections();
    one.close();
  }
  await Promise.all([egress.close(), pool.close()]);
});

function read(path: string, config: Record<string, unknown> = {}): Promise<ToolOutcome> {
  return executor.execute({
    tool: { toolId: 'tool-1', kind: 'web_fetch', slug: 'web', config: { cache_s: 0, ...config } },
    toolCallId: 'call-1',
    args: { url: `${origin}${path}` },
    run: { id: 'run-1' },
    place: { organizationId: 'organization-1', workspaceId: 'workspace-1' },
    secret: () => Promise.resolve(null),
    transact: () => Promise.reject(new Error('reading a page reads no rows')),
    variables: {},
    policy,
    timeoutMs: 120_000,
    signal: new AbortController().signal,
    hops: 1,
    readOutput: () => Promise.resolve(null),
  });
}

test('a redirect is followed, and the page tells where it ended', async () => {
  const outcome = await read('/to-open');

  expect(outcome).toMatchObject({ status: 'succeeded', text: expect.stringContaining(`URL: http://localhost:${portOf(other)}/open`) });
});

test('a redirect to a domain that the tool does not allow is never requested', async () => {
  expect(await read('/to-open', { allow_domains: ['127.0.0.1'] })).toMatchObject({ error: { code: 'egress_refused' } });
  expect(await read('/to-open', { deny_domains: ['localhost'] })).toMatchObject({ error: { code: 'egress_refused' } });

  expect(hits.filter((hit) => hit.startsWith('other'))).toEqual([]);
});

test('robots.txt of the place that a redirect leads to is obeyed', async () => {
  expect(await read('/to-closed')).toMatchObject({ error: { code: 'egress_refused' } });
  expect(hits.filter((hit) => hit.startsWith('other'))).toEqual(['other /robots.txt']);

  expect(await read('/to-closed', { robots: false })).toMatchObject({ status: 'succeeded' });
});

test('an image is a file of its type', async () => {
  expect(await read('/png')).toMatchObject({ type: 'files', files: [{ mediaType: 'image/png', bytes: expect.any(Buffer) }] });
});

test('a damaged PDF is a result that says so and is not tried again', async () => {
  expect(await read('/pdf')).toMatchObject({
    status: 'failed',
    error: { code: 'upstream_status', reason: 'unreadable', retryable: false },
  });
});

test('a page that is closed to the tool is not sent for', async () => {
  expect(await read('/page', { deny_domains: ['127.0.0.1'] })).toMatchObject({ error: { reason: 'domain' } });
  expect(hits).toEqual([]);
});
