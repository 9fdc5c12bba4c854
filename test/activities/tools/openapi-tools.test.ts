import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createAccessTokens } from '../../../activities/tools/access-tokens.ts';
import { executeHttp } from '../../../activities/tools/http.ts';
import type { GuardedExecution } from '../../../activities/tools/outcome.ts';
import { completeHttpConfig } from '../../../db/tools/tool-config.ts';
import { createEgress } from '../../../ports/egress.ts';
import { createOpenApiReader } from '../../../ports/openapi-reader.ts';
import { createTemplates } from '../../../ports/templates.ts';
import { testWorkPool } from '../../support/work-pool.ts';

const egress = createEgress();
const pool = testWorkPool();
const parts = { egress, templates: createTemplates(pool), tokens: createAccessTokens(egress) };
const reader = createOpenApiReader(pool);
let server: Server;
let port = 0;
let seen: { url: string; method: string; type: string | null; trace: string | null; body: string } | null = null;

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
  let body = '';
  for await (const part of request) body += String(part);
  const { url = '', method = '', headers } = request;
  seen = { url, method, type: headers['content-type'] ?? null, trace: String(headers['x-trace'] ?? '') || null, body };
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
    '/text': { put: { operationId: 'text', requestBody: { content: { 'text/csv': { schema: { type: 'string' } } } } } },
    '/patch': { patch: { operationId: 'merge', requestBody: { content: { 'application/merge-patch+json': {} } } } },
  },
};

const seenNow = () => seen;

async function call(name: string, args: Record<string, unknown>) {
  const { operations } = await reader.read(null, { text: JSON.stringify(document), include: [name] });
  const [operation] = operations;
  if (!operation) throw new Error('The document gave no tool');
  const { method, request } = operation;
  const config = { ...completeHttpConfig({ method, ...request, url: `http://127.0.0.1:${port}${request.url}` }) };
  seen = null;
  const execution: GuardedExecution = {
    tool: { toolId: 'tool-1', kind: 'http', slug: 'kit__tool', config },
    toolCallId: 'call-1',
    args,
    run: { id: 'run-1' },
    place: { organizationId: 'organization-1', workspaceId: 'workspace-1' },
    secret: () => Promise.resolve(null),
    transact: () => Promise.reject(new Error('these tools read no rows')),
    variables: { vars: {} },
    policy: { allowHttp: false, exceptions: [{ host: '127.0.0.1', port, allow_http: true }] },
    timeoutMs: 5_000,
    signal: new AbortController().signal,
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
