import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { createToolExecutor } from '../../../activities/tools/calls/execute.ts';
import type { ToolOutcome } from '../../../activities/tools/calls/outcome.ts';
import { completeWebSearchConfig, type WebSearchConfigDraft } from '../../../domain/tools/kind-config.ts';
import { createEgress, type EgressPolicy } from '../../../ports/egress/egress.ts';

/** Answers as the services give them, cut to what matters and a little beside it. */
const searxng = {
  query: 'durable execution',
  number_of_results: 0,
  results: [
    {
      url: 'https://temporal.io/',
      title: 'Durable Execution Solutions | Temporal',
      content: 'Build invincible apps &amp; services',
      publishedDate: null,
      thumbnail: '',
      engine: 'brave',
      template: 'default.html',
      parsed_url: ['https', 'temporal.io', '/', '', '', ''],
      engines: ['brave', 'duckduckgo'],
      positions: [1, 2],
      score: 3,
      category: 'general',
    },
    { url: 'https://blog.example.com/a', title: 'A', content: 'b', publishedDate: '2026-03-04T00:00:00', engines: ['bing'], score: 1 },
    { url: 'https://blog.example.com/a', title: 'A again', content: 'b', engines: ['bing'], score: 1 },
    { url: 'magnet:?xt=urn:btih:abc', title: 'No page', content: '' },
  ],
  answers: [],
  corrections: [],
  infoboxes: [],
  suggestions: ['durable functions'],
  unresponsive_engines: [['google', 'timeout']],
};

const brave = {
  type: 'search',
  query: { original: 'durable execution', more_results_available: true },
  mixed: { type: 'mixed', main: [{ type: 'web', index: 0, all: false }] },
  web: {
    type: 'search',
    results: [
      {
        title: 'What is <strong>durable execution</strong>?',
        url: 'https://docs.example.org/what',
        is_source_local: false,
        description: 'It&#x27;s <strong>code</strong> that survives.',
        page_age: '2026-01-02T03:04:05',
        age: 'January 2, 2026',
        profile: { name: 'Docs' },
        language: 'en',
        family_friendly: true,
        meta_url: { scheme: 'https', netloc: 'docs.example.org' },
      },
      { title: 'Elsewhere', url: 'https://elsewhere.test/x', description: 'Not wanted' },
    ],
  },
};

let server: Server;
let origin = '';
let policy: EgressPolicy;
let hits: { url: URL; headers: IncomingHttpHeaders }[] = [];
let reply: { status: number; body: string } = { status: 200, body: '' };
const egress = createEgress();
const executor = createToolExecutor({ egress } as never); // a search uses nothing else

beforeAll(async () => {
  server = createServer((request, response) => {
    hits.push({ url: new URL(request.url ?? '', 'http://search.test'), headers: request.headers });
    response.writeHead(reply.status, { 'content-type': 'application/json', 'location': '/elsewhere' }).end(reply.body);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo; // it listens
  origin = `http://127.0.0.1:${port}`;
  policy = { allowHttp: false, exceptions: [{ host: '127.0.0.1', port, allow_http: true }] };
});

beforeEach(() => {
  hits = [];
});

afterAll(async () => {
  server.closeAllConnections();
  server.close();
  await egress.close();
});

function search(draft: WebSearchConfigDraft, answer: unknown, secret: string | null = null): Promise<ToolOutcome> {
  reply = { status: 200, body: JSON.stringify(answer) };
  return ask(draft, secret);
}

function ask(draft: WebSearchConfigDraft, secret: string | null = null): Promise<ToolOutcome> {
  return executor.execute({
    tool: { toolId: 'tool-1', kind: 'web_search', slug: 'search', config: { ...completeWebSearchConfig(draft) } },
    toolCallId: 'call-1',
    args: { query: 'durable execution' },
    run: { id: 'run-1' },
    hops: 1,
    place: { organizationId: 'organization-1', workspaceId: 'workspace-1' },
    secret: () => Promise.resolve(secret),
    transact: () => Promise.reject(new Error('a search reads no rows')),
    variables: {},
    policy,
    timeoutMs: 60_000,
    signal: new AbortController().signal,
    readOutput: () => Promise.resolve(null),
  });
}

const hit = () => hits[0]?.url.searchParams;

test('searxng: its rows without doubles and without what is no page', async () => {
  const outcome = await search({ provider: 'searxng', base_url: origin, region: 'de', freshness: 'month' }, searxng);

  expect(outcome).toMatchObject({
    value: {
      results: [
        {
          title: 'Durable Execution Solutions | Temporal',
          url: 'https://temporal.io/',
          snippet: 'Build invincible apps & services',
          published_at: null,
        },
        { title: 'A', url: 'https://blog.example.com/a', snippet: 'b', published_at: expect.stringContaining('2026-03-0') },
      ],
    },
  });
  expect(hits).toHaveLength(1);
  expect(hits[0]?.url.pathname).toBe('/search');
  expect(Object.fromEntries(hit() ?? [])).toEqual({ q: 'durable execution', format: 'json', language: 'de', time_range: 'month' });
});

test('brave: key, count, country and freshness as it wants them, text without its marks', async () => {
  const config = {
    provider: 'brave',
    base_url: `${origin}/res/v1/web/search`,
    secret: 'brave_key',
    region: 'de-AT',
    freshness: 'week',
  } as const;

  const outcome = await search(config, brave, 'a-long-secret-key');

  expect(outcome).toMatchObject({
    value: {
      results: [{ title: 'What is durable execution?', snippet: "It's code that survives.", url: 'https://docs.example.org/what' }, {}],
    },
  });
  expect(hits[0]?.headers['x-subscription-token']).toBe('a-long-secret-key');
  expect(Object.fromEntries(hit() ?? [])).toMatchObject({ count: '8', country: 'AT', search_lang: 'de', freshness: 'pw' });
});

test('brave: a search without results is no failure', async () => {
  const outcome = await search(
    { provider: 'brave', base_url: origin, secret: 'brave_key' },
    { type: 'search', query: {} },
    'a-long-secret-key',
  );

  expect(outcome).toMatchObject({ status: 'succeeded', value: { results: [] } });
});

test('http_json: asked and read by its mapping', async () => {
  const mapping = {
    query: 'text',
    count: 'n',
    key_header: 'X-Key',
    results: '/data/hits',
    title: '/doc/name',
    url: '/doc/href',
    snippet: '/sum',
    published_at: '/at',
  };
  const answer = { data: { hits: [{ doc: { name: 'N', href: 'https://a.test/1' }, sum: 'S', at: 1_767_225_600_000 }] } };

  const outcome = await search(
    { provider: 'http_json', base_url: `${origin}/find?fixed=1`, secret: 'k', mapping, max_results: 3 },
    answer,
    'a-long-secret-key',
  );

  expect(outcome).toMatchObject({
    value: { results: [{ title: 'N', url: 'https://a.test/1', snippet: 'S', published_at: '2026-01-01T00:00:00.000Z' }] },
  });
  expect(Object.fromEntries(hit() ?? [])).toEqual({ fixed: '1', text: 'durable execution', n: '3' });
  expect(hits[0]?.headers).toMatchObject({ 'x-key': 'a-long-secret-key' });
});

test('domains go into the query, and the rows are held to them whatever the service makes of it', async () => {
  const config = {
    provider: 'brave',
    base_url: origin,
    secret: 'k',
    include_domains: ['example.org'],
    exclude_domains: ['bad.example.org'],
  } as const;

  const outcome = await search(config, brave, 'a-long-secret-key');

  expect(hit()?.get('q')).toBe('durable execution (site:example.org) -site:bad.example.org');
  expect(outcome).toMatchObject({ value: { results: [{ url: 'https://docs.example.org/what' }] } });
  expect(JSON.stringify(outcome)).not.toContain('elsewhere');
});

test('no more rows than the tool wants', async () => {
  const results = Array.from({ length: 50 }, (_, n) => ({ url: `https://a.test/${n}`, title: `${n}`, content: 'x'.repeat(5_000) }));

  const outcome = await search({ provider: 'searxng', base_url: origin, max_results: 2 }, { results });

  expect(outcome).toMatchObject({ value: { results: [{ title: '0' }, { title: '1' }] } });
  expect(JSON.stringify(outcome).length).toBeLessThan(3_000);
});

test.each([
  [403, '{}', { code: 'upstream_status', retryable: false, reason: '403' }],
  [429, '{}', { code: 'upstream_status', retryable: true, reason: '429' }],
  [302, '', { code: 'upstream_status', retryable: false, reason: '302' }],
  [200, '<html>', { code: 'upstream_status', reason: 'not_understood' }],
  [200, '{"results": "none"}', { code: 'upstream_status', reason: 'not_understood' }],
])('an answer %i %s is a failed result, after one request', async (status, body, error) => {
  reply = { status, body };

  expect(await ask({ provider: 'searxng', base_url: origin })).toMatchObject({ status: 'failed', error });
  expect(hits).toHaveLength(1);
});

test('a key that is missing is told before anything is sent; one that is echoed is masked', async () => {
  expect(await search({ provider: 'searxng', base_url: origin, secret: 'search_key' }, searxng, null)).toMatchObject({
    error: { code: 'secret_missing', message: expect.stringContaining('search_key') },
  });
  expect(hits).toEqual([]);

  const echoed = await search(
    { provider: 'searxng', base_url: origin, secret: 'search_key' },
    { results: [{ url: 'https://a.test/', title: 'a-long-secret-key' }] },
    'a-long-secret-key',
  );
  expect(JSON.stringify(echoed)).not.toContain('a-long-secret-key');
});

test('a search service at a private address is refused', async () => {
  expect(await ask({ provider: 'searxng', base_url: 'https://10.0.0.1/' })).toMatchObject({ error: { code: 'egress_refused' } });
});
