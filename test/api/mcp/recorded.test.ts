import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { TestApi } from '../../support/api.ts';
import { bearer, makeTenant, type TestTenant } from '../../support/tenant.ts';
import { startMcpApi } from './client.ts';

let api: TestApi;
let tenant: TestTenant;

beforeAll(async () => {
  api = await startMcpApi();
  tenant = await makeTenant(api.db, api.keys);
});

afterAll(() => api.close());

/** What the Python clients send with everything, GET and DELETE included. */
const standing = { 'accept': 'application/json, text/event-stream', 'content-type': 'application/json' };
const meta = (name: string, version: string) => ({
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name, version },
  'io.modelcontextprotocol/clientCapabilities': {},
});

const send = (method: 'GET' | 'POST' | 'DELETE', headers: Record<string, string>, body?: object) =>
  fetch(`${api.url}/mcp`, {
    method,
    headers: { ...standing, ...headers, ...bearer(tenant.tokens.member) },
    ...(body ? { body: JSON.stringify(body) } : {}),
  });

// Recorded of mcp 1.30.0, of fastmcp 2.14.7 and langchain-mcp-adapters 0.3.2, which use it, and of mcp 2.3.0 with mode="legacy".
test.each(['2025-11-25', '2025-06-18'])(
  'a session as Python clients keep it is served from initialize to DELETE: %s',
  async (protocolVersion) => {
    const params = { protocolVersion, capabilities: {}, clientInfo: { name: 'mcp', version: '0.1.0' } };
    const opened = await send('POST', {}, { method: 'initialize', params, jsonrpc: '2.0', id: 0 });
    const session = { 'mcp-session-id': opened.headers.get('mcp-session-id') ?? '', 'mcp-protocol-version': protocolVersion };

    const initialized = await send('POST', session, { method: 'notifications/initialized', jsonrpc: '2.0' });
    const stream = await send('GET', session);
    const listed = await send('POST', session, { method: 'tools/list', jsonrpc: '2.0', id: 1 });
    const called = await send('POST', session, {
      method: 'tools/call',
      params: { name: 'listAgents', arguments: { limit: 1 } },
      jsonrpc: '2.0',
      id: 2,
    });
    const ended = await send('DELETE', session);
    await stream.body?.cancel();

    expect([opened, initialized, stream, listed, called, ended].map(({ status }) => status)).toEqual([200, 202, 200, 200, 200, 204]);
    expect(await opened.json()).toMatchObject({ id: 0, result: { protocolVersion } });
    expect(await called.json()).toMatchObject({ id: 2, result: { structuredContent: { items: [] } } });
  },
);

// Recorded of mcp 2.3.0 and of fastmcp 4.2.3, which uses it.
test.each([
  ['mcp', '0.1.0'],
  ['fastmcp', '4.2.3'],
])('requests without a session as Python clients send them are served: %s %s', async (name, version) => {
  const ask = (id: number, method: string, params: object, headers: Record<string, string> = {}) =>
    send(
      'POST',
      { 'mcp-protocol-version': '2026-07-28', 'mcp-method': method, ...headers },
      { jsonrpc: '2.0', id, method, params: { ...params, _meta: meta(name, version) } },
    );

  const discovered = await ask(1, 'server/discover', {});
  const listed = await ask(2, 'tools/list', {});
  const called = await ask(3, 'tools/call', { name: 'listAgents', arguments: { limit: 1 } }, { 'mcp-name': 'listAgents' });

  expect([discovered, listed, called].map(({ status }) => status)).toEqual([200, 200, 200]);
  expect(await called.json()).toMatchObject({ id: 3, result: { resultType: 'complete', structuredContent: { items: [] } } });
});
