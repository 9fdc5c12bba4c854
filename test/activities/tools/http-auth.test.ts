import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { createToolExecutor } from '../../../activities/tools/calls/execute.ts';
import type { ToolExecution, ToolOutcome } from '../../../activities/tools/calls/outcome.ts';
import { createWebPages } from '../../../activities/tools/builtin/web-fetch.ts';
import { createEgress, type EgressPolicy } from '../../../ports/egress/egress.ts';
import { createTemplates } from '../../../ports/templates/templates.ts';
import { testWorkPool } from '../../support/work-pool.ts';

const value = 'p@ss/w"ord+98765 ü';
const pool = testWorkPool();
const parts = { egress: createEgress(), templates: createTemplates(pool), pages: createWebPages(pool) };
const executor = createToolExecutor(parts as never); // other packages' parts are not used by http tools

let server: Server;
let origin = '';
let policy: EgressPolicy;
let tokensGiven = 0;
let validToken = '';
let tokenRequests: { authorization: string | undefined; body: string }[] = [];
let calls = 0;
let takesBasic = true;

beforeAll(async () => {
  server = createServer((request, response) => void answer(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  origin = `http://127.0.0.1:${port}`;
  policy = { allowHttp: false, exceptions: [{ host: '127.0.0.1', port, allow_http: true }] };
});

beforeEach(() => {
  [tokensGiven, calls, tokenRequests, takesBasic] = [0, 0, [], true];
});

afterAll(async () => {
  server.closeAllConnections();
  server.close();
  await Promise.all([parts.egress.close(), pool.close()]);
});

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  let body = '';
  for await (const part of request) body += String(part);
  const json = (status: number, content: unknown) =>
    void response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(content));
  if (request.url === '/token') return giveToken(request, body, json);
  calls += 1;
  if (request.url === '/guarded' && request.headers.authorization !== `Bearer ${validToken}`) return json(401, { error: 'stale' });
  const told = { headers: request.headers, url: request.url, body, plain: value, coded: Buffer.from(value).toString('base64') };
  if (request.url?.startsWith('/refuse')) return json(400, told);
  if (request.url?.startsWith('/text')) return void response.writeHead(200, { 'content-type': 'text/plain' }).end(JSON.stringify(told));
  json(200, told);
}

function giveToken(request: IncomingMessage, body: string, json: (status: number, content: unknown) => void): void {
  tokenRequests.push({ authorization: request.headers.authorization, body });
  if (!takesBasic && request.headers.authorization !== undefined) return json(401, { error: 'invalid_client' });
  tokensGiven += 1;
  validToken = `token-${tokensGiven}-abcdefgh`;
  json(200, { access_token: validToken, token_type: 'Bearer', expires_in: 3_600 });
}

function run(config: object, more: Partial<ToolExecution> = {}): Promise<ToolOutcome> {
  return executor.execute({
    tool: { toolId: 'tool-1', kind: 'http', slug: 'h', config: { method: 'POST', ...config } },
    toolCallId: 'call-1',
    args: {},
    run: { id: 'run-1' },
    place: { organizationId: 'organization-1', workspaceId: 'workspace-1' },
    secret: (name) => Promise.resolve(name === 'key' ? value : null),
    transact: () => Promise.reject(new Error('these tools read no rows')),
    variables: { vars: {} },
    policy,
    timeoutMs: 60_000,
    signal: new AbortController().signal,
    hops: 1,
    readOutput: () => Promise.resolve(null),
    ...more,
  });
}

const forms = [
  value,
  'p@ss',
  encodeURIComponent(value),
  '98765',
  Buffer.from(value).toString('base64'),
  Buffer.from(`me:${value}`).toString('base64'),
];

test.each([
  ['bearer', { type: 'bearer', secret: 'key' }],
  ['basic', { type: 'basic', user: 'me', secret: 'key' }],
  ['a key in the query', { type: 'api_key', in: 'query', name: 'k', secret: 'key' }],
])('%s reaches the server, and no echo of it reaches the model', async (_name, auth) => {
  const outcomes = [
    await run({ url: `${origin}/echo`, auth }),
    await run({ url: `${origin}/text`, auth }),
    await run({ url: `${origin}/refuse`, auth }),
  ];

  expect(outcomes.map(({ status }) => status)).toEqual(['succeeded', 'succeeded', 'failed']);
  const shown = JSON.stringify(outcomes);
  expect(shown).toContain('[secret:key]');
  for (const form of forms) expect(shown).not.toContain(form);
});

test('a short value is left as it is, since half of any text would go', async () => {
  const outcome = await run(
    { url: `${origin}/echo`, auth: { type: 'api_key', in: 'header', name: 'x-key', secret: 'key' } },
    { secret: () => Promise.resolve('1234567') },
  );

  expect(JSON.stringify(outcome)).toContain('"x-key":"1234567"');
});

test('a secret without a value is told by name, and nothing is sent', async () => {
  expect(await run({ url: `${origin}/echo`, auth: { type: 'bearer', secret: 'other' } })).toMatchObject({
    status: 'failed',
    error: { code: 'secret_missing', message: expect.stringContaining('other'), retryable: false },
  });
  expect(calls).toBe(0);
});

const auth = () => ({
  type: 'oauth2_client_credentials',
  token_url: `${origin}/token`,
  client_id: 'app',
  secret: 'key',
  scope: 'read write',
});

test('a token is asked for once, used until it ends, and masked', async () => {
  const place = { organizationId: 'o-once', workspaceId: 'w' };

  const first = await run({ url: `${origin}/guarded`, auth: auth() }, { place });
  await run({ url: `${origin}/guarded`, auth: auth() }, { place });

  expect(tokensGiven).toBe(1);
  expect(tokenRequests[0]?.body).toBe('grant_type=client_credentials&scope=read+write');
  expect(JSON.stringify(first)).not.toContain(validToken);
  expect(JSON.stringify(first)).toContain('Bearer [secret:key]');
});

test('a token that is refused is replaced once, and no other tenant uses it', async () => {
  const place = { organizationId: 'o-refused', workspaceId: 'w' };
  await run({ url: `${origin}/guarded`, auth: auth() }, { place });
  validToken = 'another-token-meanwhile';

  expect(await run({ url: `${origin}/guarded`, auth: auth() }, { place })).toMatchObject({ status: 'succeeded' });
  expect([tokensGiven, calls]).toEqual([2, 3]);
  await run({ url: `${origin}/guarded`, auth: auth() }, { place: { ...place, organizationId: 'o-else' } });
  expect(tokensGiven).toBe(3);
});

test('a token server that takes the secret only within the body gets it there', async () => {
  takesBasic = false;

  expect(await run({ url: `${origin}/guarded`, auth: auth() }, { place: { organizationId: 'o-body', workspaceId: 'w' } })).toMatchObject({
    status: 'succeeded',
  });
  expect(new URLSearchParams(tokenRequests[1]?.body).get('client_secret')).toBe(value);
});

test('without a token nothing was sent to the tool, so a write has not happened', async () => {
  const closed = { ...auth(), token_url: 'http://127.0.0.1:9/token' };
  const exceptions = [...policy.exceptions, { host: '127.0.0.1', port: 9, allow_http: true }];

  expect(await run({ url: `${origin}/echo`, auth: closed }, { policy: { allowHttp: false, exceptions } })).toEqual({
    status: 'failed',
    error: { code: 'upstream_unreachable', message: 'the token server can not be reached', retryable: true, reason: 'token' },
  });
  expect(calls).toBe(0);
});
