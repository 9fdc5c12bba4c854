import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { newId } from '../../../db/ids.ts';
import type { McpPrincipal } from '../../../db/mcp/connection-queries.ts';
import { openConnection } from '../../../db/mcp/connections.ts';
import { systemActor, transact, workspaceTenant } from '../../../db/transaction.ts';
import { hang, startMcpServer, type FakeMcpServer } from '../../fakes/mcp-server.ts';
import type { TestTenant } from '../../support/tenant.ts';
import { openWorld, type World } from '../world.ts';

let world: World;
let server: FakeMcpServer;
let statements: string[] = [];

beforeAll(async () => {
  server = await startMcpServer('streamable');
  world = await openWorld({ onQuery: (sql) => statements.push(sql) });
});
afterAll(async () => {
  await world.close();
  await server.close();
});

const tenantWithServer = () => world.tenant({ egressAllowlist: [{ host: '127.0.0.1', port: server.port, allow_http: true }] });

async function makeToolkit({ tokens }: TestTenant, more: object = {}): Promise<string> {
  const config = { url: 'https://mcp.example.com/mcp', auth: { type: 'oauth', mode: 'per_user' } };
  const body = { slug: `kit-${newId().slice(-8)}`, name: 'Far', kind: 'mcp', config, ...more };
  return (await world.call(tokens.admin, 'POST', '/toolkits', { body })).body.id;
}

const sync = ({ tokens }: TestTenant, id: string, body: object = {}) =>
  world.call(tokens.admin, 'POST', `/mcp/toolkits/${id}/sync`, { body });

async function connect({ organizationId, workspaceId }: TestTenant, toolkitId: string, principal: McpPrincipal): Promise<void> {
  const options = { tenant: workspaceTenant(organizationId, workspaceId), actor: systemActor, correlationId: newId() };
  await transact(world.api.db, options, (tx) => openConnection(tx, { id: toolkitId, organizationId, workspaceId }, principal));
}

test('of two syncs at once one runs; another kind and a code that nobody asked for are refused', async () => {
  const tenant = await world.tenant();
  const id = await makeToolkit(tenant);
  const manual = await makeToolkit(tenant, { kind: 'manual', config: {} });

  const code = { authorization: { code: 'c', state: 's' } };
  expect(await sync(tenant, id, code)).toMatchObject({
    status: 422,
    body: { errors: [{ pointer: '/authorization/state', rule: 'state' }] },
  });
  const both = await Promise.all([sync(tenant, id), sync(tenant, id)]);
  expect(both.map(({ status }) => status).toSorted()).toEqual([202, 409]);
  expect(both.find(({ status }) => status === 409)?.body.context).toMatchObject({ reason: 'sync_running' });
  expect(await sync(tenant, manual)).toMatchObject({ status: 409, body: { context: { reason: 'not_mcp' } } });
  expect(await world.call(tenant.tokens.viewer, 'GET', `/mcp/toolkits/${manual}/status`)).toMatchObject({
    status: 409,
    body: { context: { reason: 'not_mcp' } },
  });
  expect(await sync(await world.tenant(), id)).toMatchObject({ status: 404 });
});

test('a status shows the shared grant and the own one, to admins all; it asks three times at most', async () => {
  const tenant = await world.tenant();
  const id = await makeToolkit(tenant);
  await connect(tenant, id, { kind: 'user', id: tenant.users.member.id });
  await connect(tenant, id, { kind: 'user', id: tenant.users.viewer.id });
  await connect(tenant, id, { kind: 'shared', id: null });
  const seen = async (token: string) => {
    const { status, body } = await world.call(token, 'GET', `/mcp/toolkits/${id}/status`);
    expect(status).toBe(200);
    return body.connections.map(({ principal }: { principal: { id: string | null } }) => principal.id).toSorted();
  };

  expect(await seen(tenant.tokens.member)).toEqual([tenant.users.member.id, null].toSorted());
  expect(await seen(tenant.tokens.admin)).toHaveLength(3);
  statements = [];
  await seen(tenant.tokens.viewer);
  const own = statements.filter((sql) => /mcp_connections|from toolkits|toolkit_revisions/.test(sql));
  expect(own).toHaveLength(2);
});

test('a look at a server that is silent, gone, redirecting or inside is an answer or a refusal, and stores nothing', async () => {
  const tenant = await tenantWithServer();
  const look = (url: string, more: object = {}) => world.call(tenant.tokens.admin, 'POST', '/mcp/discover', { body: { url, ...more } });

  expect(await look(server.url)).toMatchObject({ status: 200, body: { reachable: true, transport: 'http', tools: [{ name: 'echo' }] } });
  server.accepts = (token) => token === 'a-token-that-is-good';
  expect(await look(server.url)).toMatchObject({ body: { reachable: true, auth: { required: true, registration: 'none' } } });
  server.tools = [{ name: 'mirror', description: 'You sent a-token-that-is-good', inputSchema: { type: 'object' } }];
  const mirrored = await look(server.url, { token: 'a-token-that-is-good' });
  expect(mirrored.body.tools).toMatchObject([{ description: 'You sent [token]' }]);
  server.before = (request) => hang(request);
  const since = Date.now();
  expect(await look(server.url)).toMatchObject({ status: 200, body: { reachable: false } });
  expect(Date.now() - since).toBeLessThan(45_000); // the client itself would wait for a minute
  server.before = () => false;

  expect(await look('http://127.0.0.1:1/mcp')).toMatchObject({ status: 422, body: { errors: [{ pointer: '/url', rule: 'egress' }] } });
  expect(await look('https://user:pass@example.com/')).toMatchObject({ status: 422 });
  expect(await world.call(tenant.tokens.member, 'POST', '/mcp/discover', { body: { url: server.url } })).toMatchObject({ status: 403 });
});
