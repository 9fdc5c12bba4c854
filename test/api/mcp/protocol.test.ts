import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { bearer, makeTenant, testPublicUrl, type TestTenant } from '../../support/tenant.ts';
import { startApi, type TestApi } from '../../support/api.ts';
import { askMcp, openSession, postMcp, startMcpApi } from './client.ts';

let api: TestApi;
let tenant: TestTenant;

beforeAll(async () => {
  api = await startMcpApi({ env: { CORS_ORIGINS: 'https://app.test' } });
  tenant = await makeTenant(api.db, api.keys);
});

afterAll(() => api.close());

const listTools = { jsonrpc: '2.0', id: 7, method: 'tools/list' };
const initialize = (protocolVersion: unknown) => ({
  jsonrpc: '2.0',
  id: 7,
  method: 'initialize',
  params: { protocolVersion, capabilities: {}, clientInfo: { name: 'test', version: '1' } },
});

test.each([
  ['no JSON', '{"jsonrpc":', -32_700, null],
  ['no body', '', -32_700, null],
  ['another JSON-RPC', { ...listTools, jsonrpc: '1.0' }, -32_600, 7],
  ['an id that is null', { ...listTools, id: null }, -32_600, null],
  ['an id that is no integer', { ...listTools, id: 1.5 }, -32_600, 1.5],
  ['params that are a list', { ...listTools, params: [] }, -32_600, 7],
  ['neither method nor result', { jsonrpc: '2.0', id: 7 }, -32_600, 7],
  ['depth', `{"jsonrpc":"2.0","id":7,"method":"x","params":{"a":${'['.repeat(70)}${']'.repeat(70)}}}`, -32_600, null],
])('what is no message is 400: %s', async (name, body, code, id) => {
  const { status, body: reply } = await postMcp(api, tenant.tokens.viewer, body);

  expect({ status, code: reply.error.code }).toEqual({ status: 400, code });
  if (name !== 'depth') expect(reply.id).toEqual(id);
});

test('a body that is no JSON by its type is 415, one that is too large 413, and without a credential nothing is read', async () => {
  const type = await postMcp(api, tenant.tokens.viewer, 'x', { 'content-type': 'text/plain' });
  const size = await postMcp(api, tenant.tokens.viewer, `"${'x'.repeat(1_100_000)}"`);
  const nobody = await postMcp(api, null, '{');

  expect([type.status, size.status, nobody.status]).toEqual([415, 413, 401]);
});

test('initialize opens a session in the version that both know, else in the newest of those with sessions', async () => {
  const known = await postMcp(api, tenant.tokens.viewer, initialize('2025-03-26'));
  const unknown = await postMcp(api, tenant.tokens.viewer, initialize('1999-01-01'));
  const missing = await postMcp(api, tenant.tokens.viewer, initialize(7));

  expect(known.body.result).toMatchObject({
    protocolVersion: '2025-03-26',
    serverInfo: { name: 'longhaul' },
    capabilities: { tools: { listChanged: true } },
  });
  expect(known.headers['mcp-session-id']).toMatch(/^[\w-]{43}$/);
  expect(unknown.body.result.protocolVersion).toBe('2025-11-25');
  expect(missing).toMatchObject({ status: 200, body: { error: { code: -32_602 } } });
});

test('a session is served by every process and ends for all at DELETE', async () => {
  const headers = await openSession(api, tenant.tokens.viewer);
  const other = await startApi({ keys: api.keys, database: api.database, redisPrefix: api.redisPrefix });

  const there = await postMcp(other, tenant.tokens.viewer, listTools, headers);
  const ping = await postMcp(other, tenant.tokens.viewer, { ...listTools, method: 'ping' }, headers);
  const ended = await other.app.inject({ method: 'DELETE', url: '/mcp', headers: { ...bearer(tenant.tokens.viewer), ...headers } });
  const here = await postMcp(api, tenant.tokens.viewer, listTools, headers);
  const again = await api.app.inject({ method: 'DELETE', url: '/mcp', headers: { ...bearer(tenant.tokens.viewer), ...headers } });
  await other.close();

  expect(there.body.result.tools.length).toBeGreaterThan(5);
  expect(ping.body).toEqual({ jsonrpc: '2.0', id: 7, result: {} });
  expect([ended.statusCode, here.status, here.body.error.code, again.statusCode]).toEqual([204, 404, -32_001, 404]);
});

test('a session is its principal’s alone, and gone with Redis: the client begins anew', async () => {
  const headers = await openSession(api, tenant.tokens.viewer);
  const stranger = (await makeTenant(api.db, api.keys)).tokens.viewer;

  const asStranger = await postMcp(api, stranger, listTools, headers);
  const removal = await api.app.inject({ method: 'DELETE', url: '/mcp', headers: { ...bearer(stranger), ...headers } });
  const asOwner = await postMcp(api, tenant.tokens.viewer, listTools, headers);
  const keys = await api.deps.redis.keys(`${api.redisPrefix}mcp:session:*`);
  await api.deps.redis.del(...keys);
  const afterFlush = await postMcp(api, tenant.tokens.viewer, listTools, headers);

  expect([asStranger.status, removal.statusCode, asOwner.status, afterFlush.status]).toEqual([404, 404, 200, 404]);
  expect(keys.join()).not.toContain(headers['mcp-session-id']);
});

test('without a session only initialize is served; an unknown version is 400', async () => {
  const none = await postMcp(api, tenant.tokens.viewer, listTools);
  const made = await postMcp(api, tenant.tokens.viewer, listTools, { 'mcp-session-id': 'x'.repeat(43) });
  const headers = await openSession(api, tenant.tokens.viewer);
  const version = await postMcp(api, tenant.tokens.viewer, listTools, { ...headers, 'mcp-protocol-version': '2024-01-01' });

  expect([none.status, made.status]).toEqual([400, 404]);
  expect(version).toMatchObject({ status: 400, body: { error: { code: -32_022, data: { requested: '2024-01-01' } } } });
});

test('GET and DELETE without a session are 405', async () => {
  for (const method of ['GET', 'DELETE'] as const) {
    const reply = await api.app.inject({ method, url: '/mcp', headers: bearer(tenant.tokens.viewer) });

    expect([reply.statusCode, reply.headers['allow']]).toEqual([405, 'POST, OPTIONS']);
  }
});

test('GET and DELETE of a session under a version that is not served are 400, and the session lives on', async () => {
  const session = await openSession(api, tenant.tokens.viewer);

  for (const method of ['GET', 'DELETE'] as const)
    for (const version of ['2024-01-01', '2026-07-28']) {
      const headers = { ...bearer(tenant.tokens.viewer), ...session, 'mcp-protocol-version': version };
      expect((await api.app.inject({ method, url: '/mcp', headers })).statusCode).toBe(400);
    }

  expect((await postMcp(api, tenant.tokens.viewer, listTools, session)).status).toBe(200);
});

test('notifications and answers are taken with 202 and no body', async () => {
  const headers = await openSession(api, tenant.tokens.viewer);

  const inSession = await postMcp(api, tenant.tokens.viewer, { jsonrpc: '2.0', method: 'notifications/initialized' }, headers);
  const answer = await postMcp(api, tenant.tokens.viewer, { jsonrpc: '2.0', id: 1, result: {} }, headers);
  const alone = await postMcp(
    api,
    tenant.tokens.viewer,
    { jsonrpc: '2.0', method: 'notifications/cancelled' },
    { 'mcp-protocol-version': '2026-07-28' },
  );

  expect([inSession, answer, alone].map(({ status, body }) => [status, body])).toEqual([
    [202, null],
    [202, null],
    [202, null],
  ]);
});

test('an unknown method is -32601: 404 without sessions, 200 within one', async () => {
  const session = await openSession(api, tenant.tokens.viewer);

  const stateless = await askMcp(api, tenant.tokens.viewer, 'toString');
  const inSession = await postMcp(api, tenant.tokens.viewer, { ...listTools, method: 'server/discover' }, session);
  const removed = await askMcp(api, tenant.tokens.viewer, 'initialize');

  expect([stateless.status, stateless.body.error.code]).toEqual([404, -32_601]);
  expect([inSession.status, inSession.body.error.code]).toEqual([200, -32_601]);
  expect([removed.status, removed.body.error.code]).toEqual([404, -32_601]);
});

test.each([
  ['mcp-method', { 'mcp-method': 'ping' }],
  ['mcp-method', { 'mcp-method': 'TOOLS/CALL' }],
  ['mcp-name', { 'mcp-name': 'createRun' }],
  ['mcp-name', { 'mcp-name': '=?base64?bGlzdEFnZW50cw?=' }],
  ['mcp-protocol-version', { 'mcp-protocol-version': '2025-11-25' }],
])('2026-07-28: a header %s that differs from the body is -32020 (%j)', async (_name, headers) => {
  const { status, body } = await askMcp(api, tenant.tokens.viewer, 'tools/call', { name: 'listAgents' }, headers);

  expect([status, body.error.code, body.id]).toEqual([400, -32_020, 1]);
});

test('2026-07-28: a name may come encoded and with white space around it', async () => {
  const encoded = await askMcp(
    api,
    tenant.tokens.viewer,
    'tools/call',
    { name: 'listAgents' },
    { 'mcp-name': '  =?base64?bGlzdEFnZW50cw==?= ' },
  );

  expect(encoded.body.result.structuredContent.items).toEqual([]);
});

test('2026-07-28: results are complete and say how long lists may be kept, for the caller alone', async () => {
  const discovered = await askMcp(api, tenant.tokens.viewer, 'server/discover');
  const listed = await askMcp(api, tenant.tokens.viewer, 'tools/list');
  const cursor = await askMcp(api, tenant.tokens.viewer, 'tools/list', { cursor: 'x' });

  const hints = {
    resultType: 'complete',
    ttlMs: 60_000,
    cacheScope: 'private',
    _meta: { 'io.modelcontextprotocol/serverInfo': { name: 'longhaul' } },
  };
  expect(discovered.body.result).toMatchObject({ ...hints, supportedVersions: ['2026-07-28'] });
  expect(listed.body.result).toMatchObject(hints);
  expect(cursor.body.error.code).toBe(-32_602);
});

test('a page of a foreign origin is 403; one of the deployment or of a listed origin is served', async () => {
  const statuses = async (origin: string) => {
    const posted = await askMcp(api, tenant.tokens.viewer, 'server/discover', {}, { origin });
    const others = await Promise.all(
      (['GET', 'DELETE'] as const).map((method) =>
        api.app.inject({ method, url: '/mcp', headers: { ...bearer(tenant.tokens.viewer), origin } }),
      ),
    );
    return [posted.status, posted.body.context?.reason, ...others.map((reply) => reply.statusCode)];
  };

  expect(await statuses('https://evil.test')).toEqual([403, 'origin_not_allowed', 403, 403]);
  expect(await statuses('null')).toEqual([403, 'origin_not_allowed', 403, 403]);
  expect(await statuses(testPublicUrl)).toEqual([200, undefined, 405, 405]);
  expect(await statuses('https://app.test')).toEqual([200, undefined, 405, 405]);
});
