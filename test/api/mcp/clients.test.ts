import { Client as NewClient, StreamableHTTPClientTransport as NewTransport } from '@modelcontextprotocol/client';
import { Client as OldClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as OldTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { sweep } from '../../../db/transaction.ts';
import { change } from '../../../db/sql.ts';
import type { TestApi } from '../../support/api.ts';
import { bearer, makeTenant, makeUser, type TestTenant } from '../../support/tenant.ts';
import { until } from '../../support/temporal.ts';
import { openSession, startMcpApi } from './client.ts';

// A call has to last longer than 10 s to become a stream by itself.
let api: TestApi;
let tenant: TestTenant;

beforeAll(async () => {
  api = await startMcpApi();
  tenant = await makeTenant(api.db, api.keys);
});

afterAll(() => api.close());

const info = { name: 'test', version: '1' };
const requestInit = (token: string) => ({ requestInit: { headers: bearer(token) } });

async function queuedRun(): Promise<string> {
  const post = async (url: string, payload: object) =>
    (await api.app.inject({ method: 'POST', url, headers: bearer(tenant.tokens.admin), payload })).json();
  const agent = await post('/agents', {
    slug: `a-${crypto.randomUUID()}`,
    name: 'A',
    revision: { model: 'builtin/extractive', instructions: 'Answer.' },
    activate: true,
  });
  // Nothing works on it here: it stays queued.
  return (await post('/runs', { agent_id: agent.id, input: { text: 'Hello' } })).id;
}

test('the 1.32 client connects, lists, calls and ends its session', async () => {
  const client = new OldClient(info);
  const transport = new OldTransport(new URL(`${api.url}/mcp`), requestInit(tenant.tokens.admin));

  await client.connect(transport);
  const { tools } = await client.listTools();
  const called = await client.callTool({ name: 'listAgents', arguments: { limit: 1 } });
  await client.ping();
  const session = transport.sessionId;
  await transport.terminateSession();
  await client.close();

  expect(client.getServerVersion()).toMatchObject({ name: 'longhaul' });
  expect(tools.map(({ name }) => name)).toContain('createRun');
  expect(called.structuredContent).toMatchObject({ next_cursor: null });
  expect(session).toHaveLength(43);
});

test('a client of 2026-07-28 finds that revision by itself, lists and calls', async () => {
  const client = new NewClient(info, { versionNegotiation: { mode: 'auto' } });

  await client.connect(new NewTransport(new URL(`${api.url}/mcp`), requestInit(tenant.tokens.admin)));
  const { tools } = await client.listTools();
  const called = await client.callTool({ name: 'listAgents', arguments: { limit: 1 } });
  const refused = await client.callTool({ name: 'getAgent', arguments: { agent_id: crypto.randomUUID() } });
  const version = client.getNegotiatedProtocolVersion();
  await client.close();

  expect(version).toBe('2026-07-28');
  expect(tools.map(({ name }) => name)).toContain('createRun');
  expect(called.structuredContent).toMatchObject({ next_cursor: null });
  expect(refused).toMatchObject({ isError: true, structuredContent: { code: 'not_found' } });
});

test('who asks for progress gets it while the tool works', async () => {
  const run_id = await queuedRun();
  const client = new NewClient(info, { versionNegotiation: { mode: 'auto' } });
  await client.connect(new NewTransport(new URL(`${api.url}/mcp`), requestInit(tenant.tokens.viewer)));
  const seen: number[] = [];

  const result = await client.callTool(
    { name: 'waitForRun', arguments: { run_id, timeout_s: 3 } },
    { onprogress: ({ progress }) => void seen.push(progress) },
  );
  await client.close();

  expect(result.structuredContent).toMatchObject({ id: run_id, status: 'queued' });
  expect(seen).toEqual([0, 2]);
});

test('a call over 10 s becomes an event stream that ends with its answer', async () => {
  const run_id = await queuedRun();
  const session = await openSession(api, tenant.tokens.viewer);
  const startedAt = performance.now();

  const reply = await callOver('waitForRun', { run_id, timeout_s: 12 }, session);
  const headAfterMs = performance.now() - startedAt;
  const text = await reply.text();

  expect(reply.headers.get('content-type')).toMatch(/^text\/event-stream/);
  expect(reply.headers.get('cache-control')).toBe('no-store, no-transform');
  expect(headAfterMs).toBeGreaterThan(9_000);
  expect(JSON.parse(/^data: (.*)$/m.exec(text)?.[1] ?? '')).toMatchObject({ id: 7, result: { structuredContent: { id: run_id } } });
});

test('leaving ends the wait and leaves the run as it is', async () => {
  const run_id = await queuedRun();
  const session = await openSession(api, tenant.tokens.viewer);
  const left = new AbortController();
  const waiting = callOver('waitForRun', { run_id, timeout_s: 60 }, session, left.signal).catch(() => null);
  await until(() => api.deps.hub.counts().watchedRuns === 1);

  left.abort();
  await waiting;

  await until(() => api.deps.hub.counts().watchedRuns === 0);
  const run = await api.app.inject({ url: `/runs/${run_id}`, headers: bearer(tenant.tokens.viewer) });
  expect(run.json().status).toBe('queued');
});

test('both kinds of clients are told when their list of tools has changed', async () => {
  const user = await makeUser(api.db, api.keys, {
    role: 'viewer',
    scope: 'workspace',
    organizationId: tenant.organizationId,
    workspaceId: tenant.workspaceId,
  });
  const told: string[] = [];
  const old = new OldClient(info, { listChanged: { tools: { autoRefresh: false, onChanged: () => void told.push('old') } } });
  const young = new NewClient(info, {
    versionNegotiation: { mode: 'auto' },
    listChanged: { tools: { autoRefresh: false, onChanged: () => void told.push('new') } },
  });
  await old.connect(new OldTransport(new URL(`${api.url}/mcp`), requestInit(user.token)));
  await young.connect(new NewTransport(new URL(`${api.url}/mcp`), requestInit(user.token)));

  await sweep(api.db, (em) => change(em, `update users set role = 'member' where id = ?`, [user.id]));

  await until(() => told.length === 2);
  const { tools } = await old.listTools();
  await Promise.all([old.close(), young.close()]);
  expect(told.toSorted()).toEqual(['new', 'old']);
  expect(tools.map(({ name }) => name)).toContain('createRun');
});

test('a revoked credential ends the streams that it has opened, and so does the end of their session', async () => {
  const user = await makeUser(api.db, api.keys, {
    role: 'viewer',
    scope: 'workspace',
    organizationId: tenant.organizationId,
    workspaceId: tenant.workspaceId,
  });
  const [mine, others] = [await openSession(api, user.token), await openSession(api, tenant.tokens.viewer)];
  const listen = (token: string, session: Record<string, string>) =>
    fetch(`${api.url}/mcp`, { headers: { ...bearer(token), ...session, accept: 'text/event-stream' } });
  const streams = [await listen(user.token, mine), await listen(tenant.tokens.viewer, others)];
  for (const { headers } of streams) expect(headers.get('cache-control')).toBe('no-store, no-transform');

  await sweep(api.db, (em) => change(em, 'update sessions set revoked_at = now() where id = ?', [user.sessionId]));
  await api.app.inject({ method: 'DELETE', url: '/mcp', headers: { ...bearer(tenant.tokens.viewer), ...others } });

  const texts = await Promise.all(streams.map((stream) => stream.text()));
  expect(texts.join()).not.toContain('data:');
});

function callOver(name: string, args: object, session: Record<string, string>, signal?: AbortSignal): Promise<Response> {
  return fetch(`${api.url}/mcp`, {
    method: 'POST',
    headers: {
      ...bearer(tenant.tokens.viewer),
      ...session,
      'content-type': 'application/json',
      'accept': 'application/json, text/event-stream',
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 7, method: 'tools/call', params: { name, arguments: args } }),
    ...(signal ? { signal } : {}),
  });
}
