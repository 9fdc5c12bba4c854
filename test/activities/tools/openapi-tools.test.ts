import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createAccessTokens } from '../../../activities/tools/http/access-tokens.ts';
import { executeHttp } from '../../../activities/tools/http/http.ts';
import type { GuardedExecution } from '../../../activities/tools/calls/outcome.ts';
import type { HttpAuth } from '../../../db/tools/tool-config.ts';
import { completeHttpConfig } from '../../../domain/tools/tool-config.ts';
import { createEgress } from '../../../ports/egress/egress.ts';
import { createOpenApiReader } from '../../../ports/openapi/reader.ts';
import { createTemplates } from '../../../ports/templates/templates.ts';
import { testWorkPool } from '../../support/work-pool.ts';

const egress = createEgress();
const pool = testWorkPool();
const parts = { egress, templates: createTemplates(pool), tokens: createAccessTokens(egress) };
const reader = createOpenApiReader(pool);
let server: Server;
let port = 0;
interface Seen {
  url: string;
  method: string;
  type: string | null;
  trace: string | null;
  cookie: string | null;
  body: string;
}
let seen: Seen | null = null;

beforeAll(async () => {
  server = createServer((request, response) => void answer(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  port = (server.address() as AddressInfo).port;
});

afterAll(async () => {
  server.closeAllConnections();
  server.close();
  await Promise.all([parts.egress.close(), pool.close()]);
});

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer); // a stream without an encoding
  const body = Buffer.concat(parts).toString('latin1');
  const { url = '', method = '', headers } = request;
  seen = {
    url,
    method,
    type: headers['content-type'] ?? null,
    trace: String(headers['x-trace'] ?? '') || null,
    cookie: headers.cookie ?? null,
    body,
  };
  response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
}

const array = { type: 'array', items: { type: 'string' } };
const query = (name: string, more: object = {}) => ({ name, in: 'query', schema: { type: 'string' }, ...more });
const document = {
  openapi: '3.1.0',
  paths: {
    '/v1/{id}/items{ext}': {
      post: {
        operationId: 'find',
        parameters: [
          { name: 'id', in: 'path', required: true, schema: { type: 'string' } },
          { name: 'ext', in: 'path', required: true, schema: array },
          query('q'),
          query('page', { schema: { type: 'integer' } }),
          query('tag', { schema: array }),
          query('ids', { schema: array, explode: false }),
          query('pipes', { schema: array, style: 'pipeDelimited' }),
          query('filter', {
            style: 'deepObject',
            schema: { type: 'object', properties: { a: { type: 'string' }, b: { type: 'boolean' } } },
          }),
          { name: 'where', in: 'query', content: { 'application/json': { schema: { type: 'object' } } } },
          { name: 'X-Trace', in: 'header', schema: { type: 'string' } },
        ],
        requestBody: { content: { 'application/json': { schema: { type: 'object' } } } },
      },
    },
    '/form': {
      post: {
        operationId: 'form',
        requestBody: {
          content: { 'application/x-www-form-urlencoded': { schema: { properties: { a: { type: 'string' }, n: { type: 'integer' } } } } },
        },
      },
    },
    '/nested': {
      post: {
        operationId: 'nested',
        requestBody: {
          content: {
            'application/x-www-form-urlencoded': {
              encoding: { metadata: { style: 'deepObject', explode: true }, ids: { style: 'form', explode: false } },
              schema: {
                type: 'object',
                properties: { metadata: { type: 'object' }, ids: array, size: {}, tags: array, address: { type: 'object' } },
              },
            },
          },
        },
      },
    },
    '/union': {
      get: {
        operationId: 'union',
        parameters: [
          query('created', { style: 'deepObject', schema: { anyOf: [{ type: 'object' }, { type: 'integer' }] } }),
          query('ids', { schema: { oneOf: [array, { type: 'string' }] } }),
          query('any', { schema: {} }),
          query('where', { schema: { allOf: [{ properties: { a: {} } }] } }),
          { name: 'session', in: 'cookie', schema: {} },
          { name: 'X-Trace', in: 'header', schema: { anyOf: [array, { type: 'string' }] } },
        ],
      },
    },
    '/upload': {
      post: {
        operationId: 'upload',
        requestBody: {
          required: true,
          content: {
            'multipart/form-data': {
              encoding: { sheet: { contentType: 'text/csv' } },
              schema: {
                allOf: [
                  { properties: { purpose: { type: 'string' }, tags: array, meta: { type: 'object' } } },
                  {
                    properties: {
                      sheet: { type: 'string', contentMediaType: 'text/csv' },
                      files: { type: 'array', items: { $ref: '#/components/schemas/Bytes' } },
                    },
                  },
                ],
              },
            },
          },
        },
      },
    },
    '/octets': {
      put: {
        operationId: 'octets',
        requestBody: { required: true, content: { 'application/octet-stream': { schema: { $ref: '#/components/schemas/Bytes' } } } },
      },
    },
    '/picture': { put: { operationId: 'picture', requestBody: { required: true, content: { 'image/*': {} } } } },
    '/anything': { post: { operationId: 'anything', requestBody: { required: true, content: { '*/*': { schema: { type: 'object' } } } } } },
    '/text': { put: { operationId: 'text', requestBody: { content: { 'text/csv': { schema: { type: 'string' } } } } } },
    '/order': {
      put: {
        operationId: 'order',
        requestBody: { required: true, content: { 'text/xml': { schema: { allOf: [{ $ref: '#/components/schemas/Order' }] } } } },
      },
    },
    '/archive': { put: { operationId: 'archive', requestBody: { content: { 'application/zip': { schema: { type: 'object' } } } } } },
    '/patch': { patch: { operationId: 'merge', requestBody: { content: { 'application/merge-patch+json': {} } } } },
  },
  components: {
    schemas: { Bytes: { type: 'string', format: 'binary' }, Order: { type: 'object', properties: { id: { type: 'integer' } } } },
  },
};

const seenNow = () => seen;

async function call(name: string, args: Record<string, unknown>, auth: HttpAuth = { type: 'none' }) {
  const { operations } = await reader.read(null, { document: JSON.stringify(document), include: [name], exclude: [] });
  const [operation] = operations;
  if (!operation) throw new Error('The document gave no tool');
  const { method, request } = operation;
  const config = { ...completeHttpConfig({ method, ...request, auth, url: `http://127.0.0.1:${port}${request.url}` }) };
  seen = null;
  const execution: GuardedExecution = {
    tool: { toolId: 'tool-1', kind: 'http', slug: 'kit__tool', config },
    toolCallId: 'call-1',
    args,
    run: { id: 'run-1' },
    place: { organizationId: 'organization-1', workspaceId: 'workspace-1' },
    secret: () => Promise.resolve('s 1'),
    transact: () => Promise.reject(new Error('these tools read no rows')),
    variables: { vars: {} },
    policy: { allowHttp: false, exceptions: [{ host: '127.0.0.1', port, allow_http: true }] },
    timeoutMs: 60_000,
    signal: new AbortController().signal,
    hops: 1,
    readOutput: () => Promise.resolve(null),
    conceal: () => undefined,
    mask: (text) => text,
  };
  const outcome = await executeHttp(parts, execution);
  return { outcome, seen: seenNow() };
}

test('every argument goes where the document says, encoded', async () => {
  const { outcome, seen: request } = await call('find', {
    id: 'a/b?c',
    ext: ['x', 'y&z'],
    q: 'one two&three=#',
    page: 0,
    tag: ['r&d', 'é'],
    ids: ['1', '2,3'],
    pipes: ['p', 'q'],
    filter: { a: 'x y', b: false },
    where: { n: [1] },
    X_Trace: 't-1',
    body: { deep: [null, 1] },
  });

  const url = new URL(request?.url ?? '', 'http://x');
  expect(outcome.status).toBe('succeeded');
  expect(url.pathname).toBe('/v1/a%2Fb%3Fc/itemsx,y%26z');
  expect(url.searchParams.getAll('tag')).toEqual(['r&d', 'é']);
  expect(Object.fromEntries(url.searchParams)).toMatchObject({
    'q': 'one two&three=#',
    'page': '0',
    'pipes': 'p|q',
    'filter[a]': 'x y',
    'filter[b]': 'false',
    'where': '{"n":[1]}',
  });
  expect(request).toMatchObject({ method: 'POST', type: 'application/json', trace: 't-1', body: '{"deep":[null,1]}' });
});

test('what is left out is not sent', async () => {
  const { seen: request } = await call('find', { id: '1', ext: ['x'], body: {} });

  expect(request).toMatchObject({ url: '/v1/1/itemsx', trace: null, body: '{}' });
});

test('an optional body that is not given is none at all', async () => {
  const { outcome, seen: request } = await call('find', { id: '1', ext: ['x'] });

  expect(outcome.status).toBe('succeeded');
  expect(request).toMatchObject({ type: null, body: '' });
});

test('an argument can not leave the path of its operation', async () => {
  const { outcome, seen: request } = await call('find', { id: '..', ext: ['/../../admin'], body: {} });

  expect(outcome).toMatchObject({ status: 'failed' });
  expect(request).toBeNull();
});

test('forms go field by field, texts and other JSON with their own type', async () => {
  const form = await call('form', { body: { a: 'x&y', n: 2 } });
  const text = await call('text', { body: 'a,b\n1,2' });
  const merge = await call('merge', { body: { a: null } });

  expect(form.seen).toMatchObject({ type: 'application/x-www-form-urlencoded', body: 'a=x%26y&n=2' });
  expect(text.seen).toMatchObject({ method: 'PUT', type: 'text/csv', body: 'a,b\n1,2' });
  expect(merge.seen).toMatchObject({ type: 'application/merge-patch+json', body: '{"a":null}' });
});

test('a value behind anyOf, oneOf, allOf or no type is sent by its own shape', async () => {
  const objects = await call('union', { created: { gte: 5, in: [1, { a: 2 }] }, ids: ['a', 'b'], any: { x: 1 }, where: { a: 'b c' } });
  const scalars = await call('union', { created: 5, ids: 'a', any: [true, 2], session: 'x y', X_Trace: ['t', 'u'] });

  expect(objects.seen?.url).toBe(
    '/union?created%5Bgte%5D=5&created%5Bin%5D%5B0%5D=1&created%5Bin%5D%5B1%5D%5Ba%5D=2&ids=a&ids=b&x=1&a=b%20c',
  );
  expect(scalars.seen).toMatchObject({ url: '/union?created=5&ids=a&any=true&any=2', cookie: 'session=x%20y', trace: 't,u' });
});

test('what has no form at its place is an invalid call, told to the model, and nothing is sent', async () => {
  const refused = [
    await call('union', { any: { deep: { er: 1 } } }),
    await call('union', { ids: [['a']] }),
    await call('union', { X_Trace: [{}] }),
    await call('find', { id: { a: { b: 1 } }, ext: ['x'] }),
    await call('find', { id: '', ext: ['x'] }),
    await call('text', { body: { a: 1 } }),
    await call('upload', { body: { files: [{ text: 'a', base64: 'YQ==' }] } }),
    await call('octets', { body: { base64: '%%%' } }),
  ];

  for (const { outcome, seen: request } of refused) {
    expect(outcome).toMatchObject({ status: 'failed', error: { code: 'invalid_arguments', retryable: false, reason: 'unsendable' } });
    expect(request).toBeNull();
  }
});

test('a form is written by its Encoding Objects: nested, joined, repeated, and objects as JSON', async () => {
  const body = { metadata: { a: { b: [1] } }, ids: ['x', 'y z'], size: 3, tags: ['p', 'q'], address: { city: 'Ulm' } };
  const { seen: request } = await call('nested', { body });

  expect(request).toMatchObject({
    type: 'application/x-www-form-urlencoded',
    body: 'metadata%5Ba%5D%5Bb%5D%5B0%5D=1&ids=x,y+z&size=3&tags=p&tags=q&address=%7B%22city%22%3A%22Ulm%22%7D',
  });
});

test('a multipart body has a part a field: texts, JSON, lists member by member, files with name and type', async () => {
  const files = [
    { base64: Buffer.from([0, 255, 13, 10]).toString('base64'), filename: 'a"b.bin' },
    { text: 'é', filename: 'c.txt' },
  ];
  const body = { purpose: 'fine-tune', tags: ['x', 'y'], meta: { a: 1 }, sheet: { text: '1,2', filename: 's.csv' }, files };
  const { outcome, seen: request } = await call('upload', { body });
  const boundary = /boundary=(.+)$/.exec(request?.type ?? '')?.[1];
  const parts = (request?.body ?? '').split(`--${boundary}`).slice(1, -1);

  expect(outcome.status).toBe('succeeded');
  expect(parts).toEqual([
    '\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nfine-tune\r\n',
    '\r\nContent-Disposition: form-data; name="tags"\r\n\r\nx\r\n',
    '\r\nContent-Disposition: form-data; name="tags"\r\n\r\ny\r\n',
    '\r\nContent-Disposition: form-data; name="meta"\r\nContent-Type: application/json\r\n\r\n{"a":1}\r\n',
    '\r\nContent-Disposition: form-data; name="sheet"; filename="s.csv"\r\nContent-Type: text/csv\r\n\r\n1,2\r\n',
    '\r\nContent-Disposition: form-data; name="files"; filename="a%22b.bin"\r\nContent-Type: application/octet-stream\r\n\r\n\u0000\u00ff\r\n\r\n',
    '\r\nContent-Disposition: form-data; name="files"; filename="c.txt"\r\nContent-Type: text/plain; charset=utf-8\r\n\r\n\u00c3\u00a9\r\n',
  ]);
});

test('the bytes of a file are a body of their own, under the type of the document or the file', async () => {
  const octets = await call('octets', { body: { base64: 'AP8=', media_type: 'image/png' } });
  const picture = await call('picture', { body: { base64: 'AP8=', media_type: 'image/png' } });
  const anything = await call('anything', { body: { a: [1] } });

  expect(octets.seen).toMatchObject({ type: 'application/octet-stream', body: '\u0000\u00ff' });
  expect(picture.seen).toMatchObject({ type: 'image/png', body: '\u0000\u00ff' });
  expect(anything.seen).toMatchObject({ type: 'application/json', body: '{"a":[1]}' });
});

test('a text and a file whose content is described as an object are still given as a text and a file', async () => {
  const schemaOf = async (name: string) => {
    const { operations } = await reader.read(null, { document: JSON.stringify(document), include: [name], exclude: [] });
    return operations[0]?.input_schema;
  };

  expect(await schemaOf('order')).toMatchObject({
    properties: {
      body: { type: 'string', contentMediaType: 'text/xml', contentSchema: { allOf: [{ $ref: '#/$defs/Order' }] } },
    },
    $defs: { Order: { type: 'object' } },
  });
  expect(await schemaOf('archive')).toMatchObject({ properties: { body: { properties: { base64: { type: 'string' } } } } });
  expect((await call('order', { body: '<o id="1"/>' })).seen).toMatchObject({ type: 'text/xml', body: '<o id="1"/>' });
  expect((await call('archive', { body: { base64: 'UEs=' } })).seen).toMatchObject({ type: 'application/zip', body: 'PK' });
});

test('a key in the query takes the place of an argument of its name, and leaves the others as they are written', async () => {
  const { seen: request } = await call(
    'union',
    { any: { key: 'mine', x: 'a b' }, ids: ['1,2'] },
    { type: 'api_key', in: 'query', name: 'key', secret: 'k' },
  );

  expect(request?.url).toBe('/union?ids=1%2C2&x=a%20b&key=s+1');
});
