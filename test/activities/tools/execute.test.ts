import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createToolExecutor, type ToolExecutor } from '../../../activities/tools/calls/execute.ts';
import type { ToolExecution, ToolOutcome } from '../../../activities/tools/calls/outcome.ts';
import { createWebPages } from '../../../activities/tools/builtin/web-fetch.ts';
import { createFolderStorage } from '../../../ports/storage/folder.ts';
import { createEgress, type EgressPolicy } from '../../../ports/egress/egress.ts';
import { createTemplates } from '../../../ports/templates/templates.ts';
import { testWorkPool } from '../../support/work-pool.ts';

const page = `<html><head><title>Manual</title></head><body><nav>menu</nav><article><h1>Start</h1><p>${'How to start a run. '.repeat(30)}</p></article><script>bad()</script></body></html>`;
const pool = testWorkPool();
const parts = {
  egress: createEgress(),
  templates: createTemplates(pool),
  pages: createWebPages(pool),
  storage: createFolderStorage(tmpdir()),
  sandbox: null,
};
const executor: ToolExecutor = createToolExecutor(parts as never); // other packages' parts are not used by these tools

let server: Server;
let origin = '';
let policy: EgressPolicy;
let hits: string[] = [];

beforeAll(async () => {
  server = createServer((request, response) => void answer(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  origin = `http://127.0.0.1:${port}`;
  policy = { allowHttp: false, exceptions: [{ host: '127.0.0.1', port, allow_http: true }] };
});

afterAll(async () => {
  server.closeAllConnections();
  server.close();
  await Promise.all([parts.egress.close(), pool.close()]);
});

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  hits.push(request.url ?? '');
  let body = '';
  for await (const part of request) body += String(part);
  if (request.url === '/robots.txt') return void response.end('User-agent: *\nDisallow: /private');
  if (request.url === '/silent') return;
  if (request.url === '/leap') return void response.writeHead(302, { location: 'http://127.0.0.1:9/' }).end();
  if (request.url === '/lead-out') return void response.writeHead(302, { location: 'http://10.0.0.1/' }).end();
  if (request.url === '/headers')
    return void response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(request.headers));
  if (request.url === '/image') return void response.writeHead(200, { 'content-type': 'image/png' }).end(Buffer.from([0x89, 0x50, 0, 1]));
  if (request.url === '/busy') return void response.writeHead(503, { 'content-type': 'text/plain' }).end('come back later');
  if (request.url?.startsWith('/echo')) {
    const told = {
      url: request.url,
      method: request.method,
      body,
      key: request.headers['idempotency-key'] ?? null,
      data: { list: [1, 2] },
    };
    return void response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(told));
  }
  response.writeHead(200, { 'content-type': 'text/html' }).end(page);
}

function run(
  tool: Omit<ToolExecution['tool'], 'toolId'>,
  args: Record<string, unknown>,
  more: Partial<ToolExecution> = {},
): Promise<ToolOutcome> {
  return executor.execute({
    tool: { toolId: 'tool-1', ...tool },
    toolCallId: 'call-1',
    args,
    run: { id: 'run-1' },
    place: { organizationId: 'organization-1', workspaceId: 'workspace-1' },
    secret: () => Promise.resolve(null),
    transact: () => Promise.reject(new Error('these tools read no rows')),
    variables: { vars: {}, now: new Date().toISOString() },
    policy,
    timeoutMs: 120_000,
    signal: new AbortController().signal,
    hops: 1,
    readOutput: () => Promise.resolve(null),
    ...more,
  });
}

const web = { kind: 'web_fetch', slug: 'web', config: { cache_s: 0 } } as const;

test('a page comes back as markdown with title and address, without its chrome', async () => {
  const outcome = await run(web, { url: `${origin}/page` });

  expect(outcome).toMatchObject({ status: 'succeeded', type: 'text' });
  const text = outcome.status === 'succeeded' && outcome.type === 'text' ? outcome.text : '';
  expect(text).toContain(`Title: Manual\nURL: ${origin}/page`);
  expect(text).toContain('How to start a run.');
  expect(text).not.toMatch(/bad\(\)|menu/);
});

test('robots.txt, domains and media types are obeyed', async () => {
  expect(await run(web, { url: `${origin}/private/x` })).toMatchObject({
    status: 'failed',
    error: { code: 'egress_refused', reason: 'robots' },
  });
  expect(await run({ ...web, config: { deny_domains: ['127.0.0.1'] } }, { url: `${origin}/page` })).toMatchObject({
    error: { reason: 'domain' },
  });
  expect(await run(web, { url: `${origin}/image` })).toMatchObject({
    status: 'succeeded',
    type: 'files',
    files: [{ mediaType: 'image/png' }],
  });
});

test('an exception that was withdrawn counts at once, also for a cached page', async () => {
  const cached = { kind: 'web_fetch', slug: 'web', config: { cache_s: 300 } } as const;
  await run(cached, { url: `${origin}/cached` });

  const refused = await run(cached, { url: `${origin}/cached` }, { policy: { allowHttp: true, exceptions: [] } });

  expect(refused).toMatchObject({ status: 'failed', error: { code: 'egress_refused' } });
});

test('a request says its run and how many hooks its cause has come through, whatever the author of the tool says', async () => {
  const config = { method: 'GET', url: `${origin}/headers`, headers: { 'X-Longhaul-Hops': '0', 'X-Longhaul-Run': 'none' } };
  const ofRun = { id: '0190163d-8694-739b-aea5-966c26f8ad91' };

  const http = await run({ kind: 'http', slug: 'headers', config }, {}, { hops: 4, run: ofRun });
  const page = await run({ ...web, config: { cache_s: 0, format: 'raw', robots: false } }, { url: `${origin}/headers` }, { hops: 5 });

  expect(http).toMatchObject({ status: 'succeeded', value: { 'x-longhaul-hops': '4', 'x-longhaul-run': ofRun.id } });
  expect(JSON.stringify(page)).toMatch(/x-longhaul-hops[\\": ]+5/);
});

test('arguments in a path are encoded, leaves of a JSON body keep their type, the call id is the idempotency key', async () => {
  const config = {
    method: 'POST',
    url: `${origin}/echo/{{ args.id }}/end`,
    query: { q: '{{ args.q }}' },
    headers: {},
    body: { mode: 'json', template: { n: '{{ args.n }}', text: 'is {{ args.q }}' } },
    response: { pointer: null, success: [] },
    idempotency_header: 'Idempotency-Key',
    redirects: 0,
  };

  const outcome = await run({ kind: 'http', slug: 'echo', config }, { id: '../a?b', q: 'x y', n: 5 });

  expect(outcome).toMatchObject({
    status: 'succeeded',
    value: { url: '/echo/..%2Fa%3Fb/end?q=x+y', method: 'POST', body: '{"n":5,"text":"is x y"}', key: 'call-1' },
  });
});

test('a list or an object in a template is written by its shape and place, or is an invalid call', async () => {
  const get = (more: object) => ({ method: 'GET', url: `${origin}/echo`, ...more });
  const list = { f: ['a b', 'c&d', 3] };
  const sent = async (config: object, args: Record<string, unknown>) => run({ kind: 'http', slug: 'h', config: { ...config } }, args);
  const inQuery = get({ query: { ids: '{{ args.f }}', fixed: 'x' } });
  const form = { method: 'POST', url: `${origin}/echo`, body: { mode: 'form', template: { f: '{{ args.f }}' } } };

  expect(await sent(inQuery, list)).toMatchObject({ value: { url: '/echo?ids=a+b&ids=c%26d&ids=3&fixed=x' } });
  expect(await sent(get({ url: `${origin}/echo/{{ args.f }}/end` }), list)).toMatchObject({ value: { url: '/echo/a%20b,c%26d,3/end' } });
  expect(await sent(form, list)).toMatchObject({ value: { body: 'f=a+b&f=c%26d&f=3' } });
  expect(await sent({ ...form, body: { mode: 'form', template: null } }, { f: { a: [1] } })).toMatchObject({
    value: { body: 'f=%7B%22a%22%3A%5B1%5D%7D' },
  });

  const object = { f: { a: 1 } };
  expect(
    await sent(get({ query: { q: '{{ args.f | json }}', a: '{{ args.f.a }}', n: '{% for p in args.f %}{{ p[0] }}{% endfor %}' } }), object),
  ).toMatchObject({
    value: { url: '/echo?q=%7B%22a%22%3A1%7D&a=1&n=a' },
  });
  expect(await sent(get({ query: { q: 'in {{ args.f | join: ";" }}' } }), list)).toMatchObject({
    value: { url: '/echo?q=in+a+b%3Bc%26d%3B3' },
  });
  const refused = [
    await sent(inQuery, object),
    await sent(inQuery, { f: [{ a: 1 }] }),
    await sent(get({ query: { q: 'x {{ args.f }}' } }), list),
    await sent(get({ query: { q: '{{ args.f | upcase }}' } }), object),
    await sent(get({ query: { q: '{{ args.f | raw }}' } }), object),
    await sent(get({ query: { q: 'x {{ args.f }}' } }), JSON.parse('{"f":{"__proto__":{"a":1}}}') as Record<string, unknown>),
    await sent(get({ headers: { 'x-key': '{{ args.f }}' } }), object),
    await sent(get({ url: `${origin}/echo/{{ args.f }}` }), object),
    await sent({ ...form, body: { mode: 'json', template: { text: 'is {{ args.f }}' } } }, object),
    await sent({ ...form, body: { mode: 'raw', template: '{{ args.f }}' } }, object),
    await sent({ ...form, body: { mode: 'raw', template: 'a {{ args.f }}' } }, list),
  ];
  for (const outcome of refused)
    expect(outcome).toMatchObject({ status: 'failed', error: { code: 'invalid_arguments', retryable: false } });
});

test.each(['json', 'form'])('arguments that are sent as they are are no templates, whatever braces they hold: %s', async (mode) => {
  const args = { text: 'Hi {{ args.other }}', other: '{% if %}' };
  const config = { method: 'POST', url: `${origin}/echo`, body: { mode, template: null } };

  const outcome = await run({ kind: 'http', slug: 'h', config }, args);

  const body = mode === 'json' ? JSON.stringify(args) : new URLSearchParams(args).toString();
  expect(outcome).toMatchObject({ status: 'succeeded', value: { body } });
});

test('a pointer picks a part of the reply; a bad status is a failed result with its text', async () => {
  const config = { method: 'GET', url: `${origin}/echo`, response: { pointer: '/data/list/1', success: [] } };

  expect(await run({ kind: 'http', slug: 'h', config }, {})).toMatchObject({ status: 'succeeded', value: 2 });
  expect(await run({ kind: 'http', slug: 'h', config: { method: 'GET', url: `${origin}/busy` } }, {})).toMatchObject({
    status: 'failed',
    error: { code: 'upstream_status', retryable: true, message: expect.stringContaining('503: come back later') },
  });
});

test('a silent server is timed_out; a cancelled run throws its own reason', async () => {
  const config = { method: 'GET', url: `${origin}/silent` };
  const cancelled = new AbortController();
  const reason = new Error('cancelled');

  expect(await run({ kind: 'http', slug: 'h', config }, {}, { timeoutMs: 200 })).toMatchObject({
    status: 'timed_out',
    error: { code: 'timed_out' },
  });
  const waiting = run({ kind: 'http', slug: 'h', config }, {}, { signal: cancelled.signal });
  setTimeout(() => cancelled.abort(reason), 50);
  await expect(waiting).rejects.toBe(reason);
});

test('an argument that would leave the path is refused, however it is written', async () => {
  const config = { method: 'GET', url: `${origin}/echo/{{ args.id }}/end` };
  hits = [];

  for (const id of ['..', '.', '%2e%2e', '.%2E']) {
    expect(
      await run(
        { kind: 'http', slug: 'h', config: { ...config, url: `${origin}/echo/${id.includes('%') ? id : '{{ args.id }}'}/end` } },
        { id },
      ),
    ).toMatchObject({
      status: 'failed',
      error: { code: 'invalid_arguments' },
    });
  }
  expect(hits.filter((url) => url !== '/silent')).toEqual([]);
});

test('a header that would choose another host is refused', async () => {
  const config = { method: 'GET', url: `${origin}/echo`, headers: { Host: 'other.internal' } };

  expect(await run({ kind: 'http', slug: 'h', config }, {})).toMatchObject({ status: 'failed', error: { code: 'egress_refused' } });
});

test('only a request that may have arrived says so', async () => {
  const silent = { method: 'POST', url: `${origin}/silent` };
  const closed = { method: 'POST', url: 'http://127.0.0.1:9/' };
  const exceptions = [...policy.exceptions, { host: '127.0.0.1', port: 9, allow_http: true }];

  expect(await run({ kind: 'http', slug: 'h', config: silent }, {}, { timeoutMs: 200 })).toMatchObject({
    status: 'timed_out',
    mayHaveHappened: true,
  });
  expect(await run({ kind: 'http', slug: 'h', config: closed }, {}, { policy: { allowHttp: false, exceptions } })).toMatchObject({
    status: 'failed',
    error: { code: 'upstream_unreachable' },
    mayHaveHappened: false,
  });
});

test.each(['/leap', '/lead-out'])('a write that was answered with a redirect to %s nowhere has arrived all the same', async (path) => {
  const exceptions = [...policy.exceptions, { host: '127.0.0.1', port: 9, allow_http: true }];
  const config = { method: 'POST', url: `${origin}${path}`, redirects: 1 };

  const outcome = await run({ kind: 'http', slug: 'h', config }, {}, { policy: { allowHttp: true, exceptions } });

  expect(outcome).toMatchObject({ status: 'failed', mayHaveHappened: true });
});

test('names within an argument leave the path as little as its values', async () => {
  const config = { method: 'GET', url: `${origin}/echo/{% for pair in args.o %}{{ pair[0] }}{{ pair[1] }}{% endfor %}/end` };

  const outcome = await run({ kind: 'http', slug: 'h', config }, { o: { 'a/b?c#d%2e': 'x/y', 'größe': 1 } });

  expect(outcome).toMatchObject({ value: { url: `/echo/a%2Fb%3Fc%23d%252ex%2Fy${encodeURI('größe')}1/end` } });
});

test('a header whose template gives nothing is not sent', async () => {
  const config = { method: 'GET', url: `${origin}/headers`, headers: { 'X-Trace': '{{ args.trace }}', 'X-Fixed': 'yes' } };

  const outcome = await run({ kind: 'http', slug: 'h', config }, {});

  expect(outcome).toMatchObject({ value: { 'x-fixed': 'yes' } });
  expect(outcome).not.toHaveProperty('value.x-trace');
});

test('a stricter tool never gets what a laxer one has kept', async () => {
  await run({ kind: 'web_fetch', slug: 'lax', config: { robots: false, cache_s: 300 } }, { url: `${origin}/private/kept` });

  expect(
    await run({ kind: 'web_fetch', slug: 'strict', config: { robots: true, cache_s: 300 } }, { url: `${origin}/private/kept` }),
  ).toMatchObject({
    error: { reason: 'robots' },
  });
});

test('without an exception no tool reaches a local address', async () => {
  hits = [];

  const outcome = await run(
    { kind: 'http', slug: 'h', config: { method: 'GET', url: `${origin}/echo` } },
    {},
    { policy: { allowHttp: true, exceptions: [] } },
  );

  expect(outcome).toMatchObject({ status: 'failed', error: { code: 'egress_refused' } });
  expect(hits).toEqual([]);
});

test('current_time tells the local time of a zone and refuses an unknown one', async () => {
  const tool = { kind: 'builtin', slug: 'time', config: { name: 'current_time' } } as const;

  expect(await run(tool, { timezone: 'Asia/Kolkata' })).toMatchObject({
    value: { timezone: 'Asia/Kolkata', local: expect.stringMatching(/\+05:30$/) },
  });
  expect(await run(tool, { timezone: 'Mars/Base' })).toMatchObject({ error: { code: 'invalid_arguments' } });
});

test('result_read gives the rest of an earlier result from an offset on', async () => {
  const tool = { kind: 'builtin', slug: 'read', config: { name: 'result_read' } } as const;
  const readOutput = (callId: string, offset: number) =>
    Promise.resolve(callId === 'c' ? { text: 'bcd'.slice(offset - 1), totalChars: 10 } : null);

  expect(await run(tool, { call_id: 'c', offset: 1 }, { readOutput })).toMatchObject({
    text: expect.stringContaining('go on with offset 4'),
  });
  expect(await run(tool, { call_id: 'other' }, { readOutput })).toMatchObject({ error: { code: 'invalid_arguments' } });
});

test('result_read gives whole characters and the offset to go on from within what a tool may give', async () => {
  const tool = { kind: 'builtin', slug: 'read', config: { name: 'result_read' } } as const;
  const body = `a${'😀'.repeat(30_000)}`;
  const readOutput = (_callId: string, offset: number, limit: number) =>
    Promise.resolve({ text: body.slice(offset, offset + limit), totalChars: body.length });
  let read = '';

  for (let offset = 0; offset < body.length;) {
    const outcome = await run(tool, { call_id: 'c', offset }, { readOutput });
    const [, text = '', next] =
      /^(.*?)(?:\n\n\[.* offset (\d+)\])?$/s.exec(outcome.status === 'succeeded' && outcome.type === 'text' ? outcome.text : '') ?? [];
    expect(outcome).toMatchObject({ text: expect.not.stringMatching(/^.{20001}/s) });
    read += text;
    offset = next === undefined ? body.length : Number(next);
  }

  expect(read).toBe(body);
});
