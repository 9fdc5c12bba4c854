import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { sweep } from '../../../db/transaction.ts';
import { change, rows } from '../../../db/sql.ts';
import type { TestApi } from '../../support/api.ts';
import { bearer, makeTenant, makeUser, testPublicUrl, type TestTenant } from '../../support/tenant.ts';
import { until } from '../../support/temporal.ts';
import { grantTo, openOauth } from '../oauth/client.ts';
import { postMcp, startMcpApi } from './client.ts';

// A batch has to last longer than 10 s to become a stream.
let api: TestApi;
let tenant: TestTenant;
let agentId: string;

beforeAll(async () => {
  api = await startMcpApi();
  tenant = await makeTenant(api.db, api.keys);
  const made = await api.app.inject({
    method: 'POST',
    url: '/agents',
    headers: bearer(tenant.tokens.admin),
    payload: { slug: 'a', name: 'A', revision: { model: 'builtin/extractive', instructions: 'Answer.' }, activate: true },
  });
  agentId = made.json().id;
});

afterAll(() => api.close());

/** A session as clients of 2025-03-26 have it: they know no version header. */
async function openOld(token: string, on: TestApi = api): Promise<Record<string, string>> {
  const params = { protocolVersion: '2025-03-26', capabilities: {}, clientInfo: { name: 'test', version: '1' } };
  const { headers, body } = await postMcp(on, token, { jsonrpc: '2.0', id: 1, method: 'initialize', params });
  expect(body.result.protocolVersion).toBe('2025-03-26');
  return { 'mcp-session-id': headers['mcp-session-id'] ?? '' };
}

const request = (id: unknown, method: string, params: object = {}) => ({ jsonrpc: '2.0', id, method, params });
const toolCall = (id: unknown, name: string, args: object = {}) => request(id, 'tools/call', { name, arguments: args });
const start = (id: unknown) => toolCall(id, 'createRun', { agent_id: agentId, input: { text: 'Hello' } });
const runsOf = () => sweep(api.db, (em) => rows(em, 'select id from runs where organization_id = ?', [tenant.organizationId]));

test('each message of a batch is served as if it had come alone, in its order; what asks for no answer gets none', async () => {
  const session = await openOld(tenant.tokens.member);

  const { status, headers, body } = await postMcp(
    api,
    tenant.tokens.member,
    [
      { jsonrpc: '2.0', method: 'notifications/initialized' },
      request('a', 'ping'),
      start(2),
      start(3),
      { jsonrpc: '2.0', id: 9, result: {} },
      toolCall(4, 'getAgent', { agent_id: agentId }),
      toolCall(5, 'getAgent', { agent_id: crypto.randomUUID() }),
    ],
    session,
  );

  expect([status, headers['content-type']]).toEqual([200, 'application/json; charset=utf-8']);
  expect(body.map(({ id }: { id: unknown }) => id)).toEqual(['a', 2, 3, 4, 5]);
  expect(body[0]).toEqual({ jsonrpc: '2.0', id: 'a', result: {} });
  expect(body[1].result.structuredContent.id).not.toBe(body[2].result.structuredContent.id);
  expect(body[3].result.structuredContent.id).toBe(agentId);
  expect(body[4].result).toMatchObject({ isError: true, structuredContent: { code: 'not_found' } });
});

test('what is wrong with one message is its own error', async () => {
  const session = await openOld(tenant.tokens.viewer);
  const meta = { _meta: { 'io.modelcontextprotocol/protocolVersion': '2026-07-28', 'io.modelcontextprotocol/clientCapabilities': {} } };

  const { status, body } = await postMcp(
    api,
    tenant.tokens.viewer,
    [
      7,
      { jsonrpc: '1.0', id: 1, method: 'ping' },
      request(2, 'toString'),
      toolCall(3, 'nothing'),
      request(4, 'initialize'),
      request(5, 'ping', meta),
      request(6, 'ping'),
    ],
    session,
  );

  expect(status).toBe(200);
  expect(body.map(({ id, error }: { id: unknown; error?: { code: number } }) => [id, error?.code])).toEqual([
    [null, -32_600],
    [1, -32_600],
    [2, -32_601],
    [3, -32_602],
    [4, -32_600],
    [5, -32_020],
    [6, undefined],
  ]);
});

test('a batch of notifications and answers is 202 without a body', async () => {
  const session = await openOld(tenant.tokens.viewer);

  const { status, body } = await postMcp(
    api,
    tenant.tokens.viewer,
    [
      { jsonrpc: '2.0', method: 'notifications/initialized' },
      { jsonrpc: '2.0', id: 1, result: {} },
    ],
    session,
  );

  expect([status, body]).toEqual([202, null]);
});

test('no other revision has batches; one that is empty, too long or without a session is refused whole', async () => {
  const session = await openOld(tenant.tokens.member);
  const before = (await runsOf()).length;
  const send = (messages: readonly unknown[], headers: Record<string, string>) => postMcp(api, tenant.tokens.member, messages, headers);
  const asked = [
    await send([start(1)], { ...session, 'mcp-protocol-version': '2025-06-18' }),
    await send([start(1)], { ...session, 'mcp-protocol-version': '2026-07-28' }),
    await send([], session),
    await send(
      Array.from({ length: 21 }, (_, id) => start(id)),
      session,
    ),
    await send([start(1)], {}),
    await send([start(1)], { 'mcp-session-id': 'x'.repeat(43) }),
  ];

  expect(asked.map(({ status, body }) => [status, body.error.code])).toEqual([
    [400, -32_600],
    [400, -32_600],
    [400, -32_600],
    [400, -32_600],
    [400, -32_000],
    [404, -32_001],
  ]);
  expect(await runsOf()).toHaveLength(before);
  expect((await send([request(1, 'ping')], { ...session, 'mcp-protocol-version': '2025-03-26' })).status).toBe(200);
});

test('each call of a batch is counted, and beyond the limit none is carried out', async () => {
  const strict = await startMcpApi({ env: { RATE_LIMITS: 'principal=12/60,anonymous=1000/60' } });
  const own = await makeTenant(strict.db, strict.keys);
  const session = await openOld(own.tokens.member, strict);
  const pings = (count: number) => Array.from({ length: count }, (_, id) => request(id, 'ping'));
  const send = (count: number) => postMcp(strict, own.tokens.member, pings(count), session);

  const served = await send(10);
  const over = await send(2);
  await strict.close();

  // One for initialize, ten for the batch; a twelfth would do, a thirteenth not.
  expect(served.headers['ratelimit']).toContain('"principal";r=1;');
  expect(served.body).toHaveLength(10);
  expect(over).toMatchObject({ status: 429, body: { code: 'rate_limited', context: { violated_policies: ['principal'] } } });
});

test('one call beyond the grant refuses the batch before any is carried out; the challenge names what all of them lack', async () => {
  const world = await openOauth();
  const { users, tokens } = await world.tenant();
  const client = await world.client(tokens.operator);
  const { access } = await grantTo(world, client, users.member, { scope: 'mcp:read agents:read', resource: `${testPublicUrl}/mcp` });
  const session = await openOld(access, world.api);

  const calls = [toolCall(1, 'listAgents'), toolCall(2, 'createRun'), toolCall(3, 'putRunFeedback')];
  const refused = await postMcp(world.api, access, calls, session);
  const fine = await postMcp(world.api, access, calls.slice(0, 1), session);
  await world.close();

  expect(refused.status).toBe(403);
  expect(refused.headers['www-authenticate']).toContain(
    'scope="mcp:read agents:read runs:write feedback:write", error="insufficient_scope"',
  );
  expect(fine.body).toMatchObject([{ id: 1, result: { structuredContent: { items: [] } } }]);
});

test('a long batch becomes a stream that ends with all answers; leaving it begins no further call', async () => {
  const session = await openOld(tenant.tokens.member);
  const [, { result }] = (await postMcp(api, tenant.tokens.member, [request(0, 'ping'), start(1)], session)).body;
  const run_id = result.structuredContent.id;
  const before = (await runsOf()).length;
  const left = new AbortController();
  const post = (messages: readonly unknown[], signal?: AbortSignal) =>
    fetch(`${api.url}/mcp`, {
      method: 'POST',
      headers: {
        ...bearer(tenant.tokens.member),
        ...session,
        'content-type': 'application/json',
        'accept': 'application/json, text/event-stream',
      },
      body: JSON.stringify(messages),
      ...(signal ? { signal } : {}),
    });

  const leaving = post([toolCall(1, 'waitForRun', { run_id, timeout_s: 60 }), start(2)], left.signal).catch(() => null);
  await until(() => api.deps.hub.counts().watchedRuns === 1);
  left.abort();
  await leaving;
  await until(() => api.deps.hub.counts().watchedRuns === 0);
  const reply = await post([toolCall(1, 'waitForRun', { run_id, timeout_s: 11 }), request(2, 'ping')]);
  const text = await reply.text();

  expect(reply.headers.get('content-type')).toMatch(/^text\/event-stream/);
  expect(JSON.parse(/^data: (.*)$/m.exec(text)?.[1] ?? '')).toMatchObject([
    { id: 1, result: { structuredContent: { id: run_id } } },
    { id: 2 },
  ]);
  expect(await runsOf()).toHaveLength(before);
});

test('a credential that is revoked in the middle of a batch carries out no further call', async () => {
  const place = { role: 'member', scope: 'workspace', organizationId: tenant.organizationId, workspaceId: tenant.workspaceId } as const;
  const user = await makeUser(api.db, api.keys, place);
  const session = await openOld(user.token);
  const [{ result }] = (await postMcp(api, user.token, [start(1)], session)).body;
  const run_id = result.structuredContent.id;
  const before = (await runsOf()).length;

  const answered = postMcp(api, user.token, [toolCall(1, 'waitForRun', { run_id, timeout_s: 5 }), start(2), start(3)], session);
  await until(() => api.deps.hub.counts().watchedRuns === 1);
  await sweep(api.db, (em) => change(em, 'update sessions set revoked_at = now() where id = ?', [user.sessionId]));
  const { status, body } = await answered;

  expect([status, body[0].id]).toEqual([200, 1]);
  expect(body.slice(1)).toMatchObject([
    { id: 2, error: { code: -32_000, data: { code: 'session_revoked' } } },
    { id: 3, error: { code: -32_000 } },
  ]);
  expect(await runsOf()).toHaveLength(before);
});
