import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createToolExecutor } from '../../../activities/tools/calls/execute.ts';
import type { ToolExecution, ToolOutcome } from '../../../activities/tools/calls/outcome.ts';
import { createWebPages } from '../../../activities/tools/builtin/web-fetch.ts';
import { createEgress, type EgressPolicy } from '../../../ports/egress/egress.ts';
import { createTemplates } from '../../../ports/templates/templates.ts';
import { testWorkPool } from '../../support/work-pool.ts';

const value = 'sk-live-4f7e9c2b1a';
const pool = testWorkPool();
const parts = { egress: createEgress(), templates: createTemplates(pool), pages: createWebPages(pool) };
const executor = createToolExecutor(parts as never); // other packages' parts are not used by these tools
let server: Server;
let origin = '';
let policy: EgressPolicy;
const replies = new Map<string, (request: IncomingMessage, response: ServerResponse) => void>();

beforeAll(async () => {
  server = createServer((request, response) => {
    const reply = replies.get((request.url ?? '').split('?')[0] ?? '');
    if (reply) reply(request, response);
    else response.writeHead(404).end();
  });
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

interface Reply {
  readonly type: string;
  readonly coding?: string;
  readonly body: Buffer | ((echoed: string) => Buffer);
}

/** Serves a reply at an address of its own; a body that is a function gets what the request carried as its credential. */
function served({ type, coding, body }: Reply): string {
  const path = `/${crypto.randomUUID()}`;
  replies.set(path, (request, response) => {
    const bytes = typeof body === 'function' ? body(String(request.headers.authorization)) : body;
    response.writeHead(200, {
      ...(type === '' ? {} : { 'content-type': type }),
      ...(coding === undefined ? {} : { 'content-encoding': coding }),
    });
    response.end(bytes);
  });
  return origin + path;
}

function run(tool: Omit<ToolExecution['tool'], 'toolId'>, args: Record<string, unknown> = {}): Promise<ToolOutcome> {
  return executor.execute({
    tool: { toolId: 'tool-1', ...tool },
    toolCallId: 'call-1',
    args,
    run: { id: 'run-1' },
    hops: 1,
    place: { organizationId: 'organization-1', workspaceId: 'workspace-1' },
    secret: () => Promise.resolve(value),
    transact: () => Promise.reject(new Error('these tools read no rows')),
    variables: { vars: {} },
    policy,
    timeoutMs: 20_000,
    signal: new AbortController().signal,
    readOutput: () => Promise.resolve(null),
  });
}

const call = (reply: Reply, auth: object = { type: 'none' }) =>
  run({ kind: 'http', slug: 'h', config: { method: 'POST', url: served(reply), auth } });
const bearer = { type: 'bearer', secret: 'key' };
const page = (reply: Reply) => run({ kind: 'web_fetch', slug: 'w', config: { cache_s: 0 } }, { url: served(reply) });

const encode = { gzip: gzipSync, deflate: deflateSync, br: brotliCompressSync, zstd: zstdCompressSync } as const;
const echo = (echoed: string) => Buffer.from(JSON.stringify({ sent: echoed, name: 'grüße' }));

test.each(Object.entries(encode))('JSON in %s stays JSON, and a secret that it echoes is masked', async (coding, pack) => {
  const outcome = await call({ type: 'application/json', coding, body: (echoed) => pack(echo(echoed)) }, bearer);

  expect(outcome).toEqual({ status: 'succeeded', type: 'json', value: { sent: 'Bearer [secret:key]', name: 'grüße' } });
});

test.each([
  ['a coding that is not understood', { type: 'application/json', coding: 'compress', body: Buffer.from([0x1f, 0x9d, 0x90, 0x73, 0xd6]) }],
  ['a coding without a label', { type: 'application/json', body: (echoed: string) => gzipSync(echo(echoed)) }],
  ['a coding that is not understood, of a file', { type: 'image/png', coding: 'x-own', body: Buffer.from([0x89, 0x50, 1, 2, 3]) }],
])('%s: nothing is kept where a secret was sent, and the bytes without one', async (_case, reply) => {
  const guarded = await call(reply, bearer);

  expect(guarded).toMatchObject({ status: 'failed', error: { code: 'upstream_status', reason: 'undecodable' }, mayHaveHappened: true });
  expect(JSON.stringify(guarded)).not.toContain('files');
  expect(await call(reply)).toMatchObject({ status: 'succeeded', type: 'files' });
});

test.each([
  ['cut', (bytes: Buffer) => bytes.subarray(0, -10)],
  ['not what it says', () => Buffer.from(`plain ${value}`)],
])('a reply that is %s is a failed call that may have happened', async (_case, change) => {
  const outcome = await call({ type: 'application/json', coding: 'gzip', body: (echoed) => change(gzipSync(echo(echoed))) }, bearer);

  expect(outcome).toEqual({
    status: 'failed',
    error: { code: 'upstream_status', message: 'the answer can not be decoded (gzip)', retryable: false, reason: 'undecodable' },
    mayHaveHappened: true,
  });
});

test('a picture that comes with a secret is kept as it is, and a charset in the place of a coding does no harm', async () => {
  const picture = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0, 1, 2, 0xff]);

  expect(await call({ type: 'image/png', coding: 'gzip', body: gzipSync(picture) }, bearer)).toMatchObject({ files: [{ bytes: picture }] });
  expect(await call({ type: 'application/json', coding: 'utf-8', body: echo }, bearer)).toMatchObject({
    value: { sent: 'Bearer [secret:key]' },
  });
});

test.each(Object.entries(encode))('a bomb in %s is a text that ends at what is read of a body', async (coding, pack) => {
  const outcome = await call({ type: 'text/plain', coding, body: pack(Buffer.alloc(60 * 1024 * 1024, 'a')) });

  expect(outcome).toMatchObject({ status: 'succeeded', type: 'text' });
  expect(outcome.status === 'succeeded' && outcome.type === 'text' && outcome.text.length).toBe(10 * 1024 * 1024);
});

const name = '{"name":"Åsa – grüße"}';
const utf16 = (text: string) => Buffer.from(text, 'utf16le');
const swapped = (text: string) => utf16(text).swap16();
const windows1252 = (text: string) => Buffer.from(text.replaceAll('–', '\u0096'), 'latin1');
const mark = Buffer.from([0xef, 0xbb, 0xbf]);

test.each([
  ['UTF-8', 'application/json', Buffer.from(name)],
  ['UTF-8 behind a byte order mark', 'application/json', Buffer.concat([mark, Buffer.from(name)])],
  ['UTF-8 behind a byte order mark, under +json', 'application/problem+json', Buffer.concat([mark, Buffer.from(name)])],
  ['windows-1252 by its label', 'application/json; charset=windows-1252', windows1252(name)],
  ['Latin-1 by its label, which is windows-1252 on the web', 'application/json; charset="ISO-8859-1"', windows1252(name)],
  ['UTF-8 that says it were Latin-1', 'application/json;charset=ISO-8859-1', Buffer.from(name)],
  ['UTF-16 by its mark', 'application/json', Buffer.concat([Buffer.from([0xff, 0xfe]), utf16(name)])],
  ['UTF-16 with the large end first by its mark', 'application/json', Buffer.concat([Buffer.from([0xfe, 0xff]), swapped(name)])],
  ['UTF-16 by its label', 'application/json; charset=utf-16', utf16(name)],
  ['UTF-16 with the large end first by its label', 'application/json; charset=UTF-16BE', swapped(name)],
])('JSON in %s is JSON', async (_case, type, body) => {
  expect(await call({ type, body })).toEqual({ status: 'succeeded', type: 'json', value: JSON.parse(name) });
});

test.each([
  ['text in Shift_JIS by its label', 'text/plain; charset=Shift_JIS', Buffer.from([0x93, 0xfa, 0x96, 0x7b]), '日本'],
  ['text in KOI8-R by its label', "text/plain; charset='koi8-r'", Buffer.from([0xcd, 0xc9, 0xd2]), 'мир'],
  ['text of windows-1252 without a label', 'text/plain', Buffer.from([0x63, 0x61, 0x66, 0xe9, 0x20, 0x80]), 'café €'],
  ['text with a label that nobody knows', 'text/plain; charset=nonsense', Buffer.from('grüße'), 'grüße'],
  ['a mark against the label', 'text/csv; charset=iso-8859-1', Buffer.concat([mark, Buffer.from('grüße')]), 'grüße'],
  ['UTF-8 with a byte that is none', 'text/plain; charset=utf-8', Buffer.from([0x61, 0xe9, 0x62]), 'a\uFFFDb'],
  [
    'XML by its declaration',
    'application/xml',
    Buffer.from('<?xml version="1.0" encoding="ISO-8859-2"?><a>\xb1</a>', 'latin1'),
    '<?xml version="1.0" encoding="ISO-8859-2"?><a>ą</a>',
  ],
  [
    'HTML by its meta',
    'text/html',
    Buffer.from('<meta charset="windows-1251"><p>\xcc\xe8\xf0', 'latin1'),
    '<meta charset="windows-1251"><p>Мир',
  ],
])('%s is read as a browser would', async (_case, type, body, text) => {
  expect(await call({ type, body })).toEqual({ status: 'succeeded', type: 'text', text });
});

test('bytes that are no text are a file, whatever text they are said to be', async () => {
  const bytes = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0, 1, 2, 0xff]);

  for (const type of ['', 'text/plain', 'text/html; charset=iso-8859-1', 'text/plain; charset=utf-8', 'text/plain; charset=iso-2022-kr'])
    expect(await call({ type, body: bytes })).toMatchObject({ type: 'files', files: [{ bytes }] });
});

test('a secret is found in a text of any charset', async () => {
  const outcome = await call({ type: 'application/json; charset=utf-16', body: (echoed) => utf16(JSON.stringify({ echoed })) }, bearer);
  const unsaid = await call({ type: 'text/plain', body: (echoed) => swapped(echoed) }, bearer);

  expect(outcome).toMatchObject({ value: { echoed: 'Bearer [secret:key]' } });
  expect(JSON.stringify(unsaid)).toContain('[secret:key]');
  expect(JSON.stringify(unsaid).replaceAll(String.raw`\u0000`, '')).not.toContain(value);
});

const told = (head: string) => `<!doctype html><html><head>${head}<title>Menü</title></head><body><p>Größe – naïve</p></body></html>`;

test.each([
  ['by its meta', 'text/html', windows1252(told('<meta charset=windows-1252>'))],
  ['by its older meta', 'text/html', windows1252(told('<meta http-equiv="Content-Type" content="text/html; charset=iso-8859-1">'))],
  ['by its label, which comes before the meta', 'text/html; charset=windows-1252', windows1252(told('<meta charset="utf-8">'))],
  ['by its mark, which comes before all', 'text/html; charset=latin1', Buffer.concat([Buffer.from([0xff, 0xfe]), utf16(told(''))])],
  ['without a word of it', 'text/html', windows1252(told(''))],
  ['in UTF-8 without a word of it', 'text/html', Buffer.from(told(''))],
  ['without any type', '', windows1252(told('<meta charset=windows-1252>'))],
])('a page is read %s', async (_case, type, body) => {
  for (const coding of ['identity', 'br']) {
    const outcome = await page({ type, coding, body: coding === 'br' ? brotliCompressSync(body) : body });

    expect(outcome).toMatchObject({ status: 'succeeded', type: 'text', text: expect.stringContaining('Größe – naïve') });
    expect(outcome).toMatchObject({ text: expect.stringContaining('Title: Menü') });
  }
});

test('a search and a token server are read with a mark, a charset and a coding', async () => {
  const rows = { results: [{ title: 'Größe', url: 'https://example.com/', snippet: 'x' }] };
  const search = served({
    type: 'application/json; charset=utf-16le',
    coding: 'br',
    body: brotliCompressSync(utf16(JSON.stringify(rows))),
  });
  const token = { access_token: 'token-of-the-server', token_type: 'Bearer', expires_in: 60 };
  const tokens = served({
    type: 'application/json',
    coding: 'gzip',
    body: gzipSync(Buffer.concat([mark, Buffer.from(JSON.stringify(token))])),
  });
  const auth = { type: 'oauth2_client_credentials', token_url: tokens, client_id: 'c', secret: 'key', scope: null };
  const config = {
    provider: 'http_json',
    base_url: search,
    secret: null,
    max_results: 8,
    include_domains: [],
    exclude_domains: [],
    region: null,
  };

  expect(await run({ kind: 'web_search', slug: 's', config: { ...config, freshness: null, mapping: null } }, { query: 'q' })).toMatchObject(
    {
      value: { results: [{ title: 'Größe' }] },
    },
  );
  expect(await call({ type: 'application/json', body: echo }, auth)).toMatchObject({ value: { sent: 'Bearer [secret:key]' } });
});
