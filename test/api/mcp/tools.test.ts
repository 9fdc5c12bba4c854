import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { sweep } from '../../../db/transaction.ts';
import { rows } from '../../../db/sql.ts';
import type { TestApi } from '../../support/api.ts';
import { bearer, makeTenant, type TestTenant } from '../../support/tenant.ts';
import { askMcp, callTool, startMcpApi } from './client.ts';

let api: TestApi;
let tenant: TestTenant;
const queries: string[] = [];

beforeAll(async () => {
  api = await startMcpApi({ onQuery: (sql) => queries.push(sql) });
  tenant = await makeTenant(api.db, api.keys);
});

afterAll(() => api.close());

async function send(method: 'GET' | 'POST', url: string, payload?: object, headers: Record<string, string> = {}) {
  const reply = await api.app.inject({
    method,
    url,
    headers: { ...bearer(tenant.tokens.admin), ...headers },
    ...(payload ? { payload } : {}),
  });
  return { status: reply.statusCode, body: reply.json(), headers: reply.headers };
}

async function makeAgent(): Promise<string> {
  const { body } = await send('POST', '/agents', {
    slug: `a-${crypto.randomUUID()}`,
    name: 'A',
    revision: { model: 'builtin/extractive', instructions: 'Answer.' },
    activate: true,
  });
  return body.id;
}

async function namesFor(token: string): Promise<string[]> {
  const { body } = await askMcp(api, token, 'tools/list');
  return body.result.tools.map((tool: { name: string }) => tool.name);
}

test('the list holds what role and scopes allow, in one order', async () => {
  const { body: key } = await send('POST', '/service-keys', { name: 'reader', role: 'member', scopes: ['mcp:read', 'agents:read'] });

  const [viewer, again, admin, reader] = await Promise.all(
    [tenant.tokens.viewer, tenant.tokens.viewer, tenant.tokens.admin, key.plaintext].map(namesFor),
  );

  expect(viewer).toEqual(again);
  expect(viewer).toEqual(expect.arrayContaining(['listRuns', 'getAgent', 'listTools', 'waitForRun']));
  expect(viewer).not.toContain('createRun');
  expect(admin).toEqual(expect.arrayContaining(['createRun', 'cancelRun']));
  expect(reader).toEqual(admin?.filter((name) => reader?.includes(name)));
  expect(reader).toEqual(expect.arrayContaining(['listAgents', 'getAgent']));
  expect(reader?.filter((name) => /Run|Skill|listTools/.test(name))).toEqual([]);
  expect(admin?.join()).not.toMatch(/secret|member|serviceKey|organization/i);
});

test('no input has two names, and none of ours is in a schema that clients read', async () => {
  const { body } = await askMcp(api, tenant.tokens.admin, 'tools/list');
  const createRun = body.result.tools.find((tool: { name: string }) => tool.name === 'createRun');

  expect(JSON.stringify(body)).not.toMatch(/"x-|"\$id"|"\$ref"/);
  expect(createRun.inputSchema).toMatchObject({ type: 'object', additionalProperties: false });
  expect(Object.keys(createRun.inputSchema.properties)).toEqual(expect.arrayContaining(['agent_id', 'input', 'idempotency_key']));
  expect(createRun.annotations).toMatchObject({ readOnlyHint: false });
});

test('a read answers the very bytes of its route, as text and as structure', async () => {
  const id = await makeAgent();
  const route = await send('GET', `/agents/${id}`);

  const result = await callTool(api, tenant.tokens.admin, 'getAgent', { agent_id: id });

  expect(result.structuredContent).toEqual(route.body);
  expect(JSON.parse(result.content[0].text)).toEqual(route.body);
  expect(result._meta['longhaul/etag']).toBe(route.headers['etag']);
  expect(result.isError).toBeUndefined();
});

test('a list pages by the cursor of its route', async () => {
  await makeAgent();
  await makeAgent();

  const first = await callTool(api, tenant.tokens.admin, 'listAgents', { limit: 1 });
  const next = await callTool(api, tenant.tokens.admin, 'listAgents', { limit: 1, cursor: first.structuredContent.next_cursor });
  const route = await send('GET', `/agents?limit=1&cursor=${first.structuredContent.next_cursor}`);

  expect(next.structuredContent.items).toEqual(route.body.items);
});

test('a refusal is isError with the envelope of the route', async () => {
  const unknown = crypto.randomUUID();
  const route = await send('GET', `/agents/${unknown}`);

  const missing = await callTool(api, tenant.tokens.admin, 'getAgent', { agent_id: unknown });
  const floor = await callTool(api, tenant.tokens.viewer, 'createRun', {});

  const { correlation_id: _id, instance: _instance, ...told } = route.body;
  expect(missing).toMatchObject({ isError: true, structuredContent: told, _meta: { 'longhaul/status': 404 } });
  expect(floor).toMatchObject({ isError: true, structuredContent: { code: 'role_insufficient', status: 403 } });
});

test.each([
  ['an unknown argument of a read', 'getAgent', { agent_id: crypto.randomUUID(), colour: 'red' }, 'query', 'unknown_parameter'],
  ['an unknown argument of a write', 'createRun', { input: { text: 'x' }, colour: 'red' }, 'body', 'unknown_field'],
  ['a number as text', 'listAgents', { limit: '5' }, 'query', 'type'],
  ['an empty filter', 'listAgents', { q: '' }, 'query', 'minLength'],
  ['an id that is none', 'getAgent', { agent_id: 'x' }, 'path', 'format'],
  ['a missing id', 'getAgent', {}, 'path', 'required'],
  ['half a character', 'createRun', { input: { text: '\ud800' } }, 'body', 'invalid_text'],
  ['a key that is no text', 'createRun', { input: { text: 'x' }, idempotency_key: 7 }, 'header', 'type'],
])('arguments are held against the schemas of the route: %s', async (_name, tool, args, place, rule) => {
  const result = await callTool(api, tenant.tokens.admin, tool, args);

  expect(result.structuredContent).toMatchObject({ code: 'validation_failed', status: 422 });
  expect(result.structuredContent.errors).toEqual(expect.arrayContaining([expect.objectContaining({ in: place, rule })]));
});

test('what names no tool, or hands over no object, breaks the protocol', async () => {
  const unknown = await askMcp(api, tenant.tokens.admin, 'tools/call', { name: 'getSecret' });
  const inherited = await askMcp(api, tenant.tokens.admin, 'tools/call', { name: 'constructor' });
  const list = await askMcp(api, tenant.tokens.admin, 'tools/call', { name: 'listAgents', arguments: [] });
  const prototype = await callTool(api, tenant.tokens.admin, 'createRun', JSON.parse('{"__proto__":{"a":1}}'));

  expect([unknown, inherited, list].map(({ body }) => body.error?.code)).toEqual([-32_602, -32_602, -32_602]);
  expect(prototype.structuredContent.code).toBe('malformed_request');
});

test('a run started by a tool says so, is audited as its operation, and a key is one on both ways', async () => {
  const agent = await makeAgent();
  const key = crypto.randomUUID();
  const body = { agent_id: agent, input: { text: 'Hello' } };

  const called = await callTool(api, tenant.tokens.admin, 'createRun', { ...body, idempotency_key: key });
  const repeated = await callTool(api, tenant.tokens.admin, 'createRun', { ...body, idempotency_key: key });
  const route = await send('POST', '/runs', body, { 'idempotency-key': key });
  const other = await callTool(api, tenant.tokens.admin, 'createRun', { ...body, input: { text: 'Bye' }, idempotency_key: key });

  const run = called.structuredContent;
  expect(run).toMatchObject({ status: 'queued', source: 'mcp' });
  expect(called._meta).toMatchObject({ 'longhaul/status': 202, 'longhaul/location': `/runs/${run.id}` });
  expect(repeated.structuredContent).toEqual(run);
  expect(repeated._meta['longhaul/idempotency-replayed']).toBe('true');
  expect([route.status, route.body, route.headers['idempotency-replayed']]).toEqual([202, run, 'true']);
  expect(other.structuredContent.code).toBe('idempotency_key_mismatch');
  const entries = await sweep(api.db, (em) =>
    rows<{ action: string; operation_id: string }>(em, 'select action, operation_id from audit_entries where resource_id = ?', [run.id]),
  );
  expect(entries).toEqual([{ action: 'submit', operation_id: 'createRun' }]);
});

test('a call makes the queries of its route and no more', async () => {
  const id = await makeAgent();
  // What is noted beside a request (when a session was last seen) comes once a while: the least of three counts.
  const counted = async (work: () => Promise<unknown>) => {
    const counts: number[] = [];
    for (let round = 0; round < 3; round += 1) {
      queries.length = 0;
      await work();
      counts.push(queries.length);
    }
    return Math.min(...counts);
  };

  const route = await counted(() => send('GET', `/agents/${id}`));
  const call = await counted(() => callTool(api, tenant.tokens.admin, 'getAgent', { agent_id: id }));
  const list = await counted(() => askMcp(api, tenant.tokens.admin, 'tools/list'));

  expect(call).toBe(route);
  // Who asks, and nothing else.
  expect(list).toBe(1);
});

test('a large answer reaches a client that reads, as an event stream too', async () => {
  const content = '"'.repeat(262_144);
  const { body: skill } = await send('POST', '/skills', {
    slug: 'large',
    description: 'Large',
    instructions: 'Read.',
    reference_docs: Array.from({ length: 5 }, (_, at) => ({ name: `doc-${at}.md`, content })),
  });
  const params = {
    name: 'getSkill',
    arguments: { skill_id: skill.id },
    _meta: {
      'progressToken': 'p',
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientCapabilities': {},
    },
  };

  const reply = await fetch(`${api.url}/mcp`, {
    method: 'POST',
    headers: {
      ...bearer(tenant.tokens.admin),
      'content-type': 'application/json',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'tools/call',
      'mcp-name': 'getSkill',
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }),
  });
  const messages = [...(await reply.text()).matchAll(/^data: (.*)$/gm)].map(([, message = '']) => JSON.parse(message));

  expect(messages.at(-1).result.structuredContent.reference_docs).toHaveLength(5);
  expect(messages.at(-1).result.structuredContent.reference_docs[4].content).toBe(content);
});

test('a tool call counts once in the limits of its principal', async () => {
  const before = await askMcp(api, tenant.serviceKey.plaintext, 'tools/call', { name: 'listAgents' });
  const after = await askMcp(api, tenant.serviceKey.plaintext, 'tools/call', { name: 'listAgents' });
  const left = ({ headers }: typeof before) => Number(/"principal";r=(\d+)/.exec(String(headers['ratelimit']))?.[1]);

  expect(left(before) - left(after)).toBe(1);
});

test('what an operator is refused as somebody else stands in the log, tool calls too', async () => {
  const started = await api.app.inject({
    method: 'POST',
    url: '/impersonations',
    headers: bearer(tenant.tokens.operator),
    payload: { user_id: tenant.users.viewer.id, reason: 'To see what happens' },
  });
  const { access_token: token } = started.json();

  const refused = await callTool(api, token, 'createRun', { input: { text: 'Hello' } });

  expect(refused.structuredContent).toMatchObject({ status: 403, code: 'role_insufficient' });
  const denied = await sweep(api.db, (em) =>
    rows<{ operation_id: string }>(em, `select operation_id from audit_entries where outcome = 'denied' and organization_id = ?`, [
      tenant.organizationId,
    ]),
  );
  expect(denied).toEqual([{ operation_id: 'createRun' }]);
});
