import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { missingScope } from '../../../api/http/credentials/role-floor.ts';
import { oauthScopeOf } from '../../../api/http/credentials/scopes.ts';
import { areas } from '../../../api/operations.ts';
import { bearer, type TestTenant } from '../../support/tenant.ts';
import { grantTo, issuer, openOauth, type OauthWorld, type TestClient } from '../oauth/client.ts';
import { askMcp, openSession, postMcp } from './client.ts';

let world: OauthWorld;
let tenant: TestTenant;
let client: TestClient;

beforeAll(async () => {
  world = await openOauth();
  tenant = await world.tenant();
  client = await world.client(tenant.tokens.operator);
});

afterAll(() => world.close());

const metadata = `resource_metadata="${issuer}/.well-known/oauth-protected-resource/mcp"`;
const grant = async (scope: string, role: 'viewer' | 'member' = 'member') =>
  (await grantTo(world, client, tenant.users[role], { scope, resource: `${issuer}/mcp` })).access;
const callTool = (token: string, name: string) => askMcp(world.api, token, 'tools/call', { name, arguments: {} });

test('challenge and metadata name the scopes of all tools, and each of those is good for one', async () => {
  const tools = areas.flatMap(({ operations }) => operations).filter(({ mcp }) => mcp === true);
  const needed = new Set(['mcp:read', ...tools.flatMap((tool) => oauthScopeOf(tool) ?? [])]);

  const challenge = (await postMcp(world.api, null, {})).headers['www-authenticate'] ?? '';
  const { scopes_supported: scopes } = (await world.get('/.well-known/oauth-protected-resource/mcp')).body;

  expect(new Set(scopes)).toEqual(needed);
  expect(challenge).toBe(`Bearer ${metadata}, scope="${scopes.join(' ')}"`);
  expect(tools.filter((tool) => missingScope(tool, { scopes }) !== null)).toEqual([]);
  // What a client may register with (the specification's bound).
  expect(scopes.join(' ').length).toBeLessThanOrEqual(400);
});

test('a call beyond the grant is 403 with a challenge that keeps what is held and adds what is lacking', async () => {
  const token = await grant('mcp:read agents:read');

  const refused = await callTool(token, 'createRun');
  const session = await openSession(world.api, token);
  const params = { name: 'createRun', arguments: {} };
  const inSession = await postMcp(world.api, token, { jsonrpc: '2.0', id: 3, method: 'tools/call', params }, session);

  for (const { status, headers, body } of [refused, inSession]) {
    expect([status, headers['content-type']]).toEqual([403, 'application/problem+json; charset=utf-8']);
    expect(headers['www-authenticate']).toBe(`Bearer ${metadata}, scope="mcp:read agents:read runs:write", error="insufficient_scope"`);
    expect(body).toMatchObject({ code: 'scope_insufficient', context: { required_scopes: ['runs:write'] } });
  }
});

test('a token without mcp:read is told all that the tools need', async () => {
  const refused = await callTool(await grant('agents:read'), 'listAgents');
  const { scopes_supported: scopes } = (await world.get('/.well-known/oauth-protected-resource/mcp')).body;

  expect(refused.status).toBe(403);
  expect(refused.headers['www-authenticate']).toBe(`Bearer ${metadata}, scope="${scopes.join(' ')}", error="insufficient_scope"`);
});

test('what the role forbids no scope would mend: it is the tool’s own answer, and not in the list', async () => {
  const token = await grant('mcp:read', 'viewer');

  const called = await callTool(token, 'createRun');
  const listed = await askMcp(world.api, token, 'tools/list');

  expect(called).toMatchObject({ status: 200, body: { result: { isError: true, structuredContent: { code: 'role_insufficient' } } } });
  const names = listed.body.result.tools.map(({ name }: { name: string }) => name);
  expect(names).toContain('listAgents');
  expect(names).not.toContain('createRun');
});

test('an application of a person sees what it may ask for; a key sees what it has, and is refused alike', async () => {
  const made = await world.json(tenant.tokens.admin, '/service-keys', { name: 'k', role: 'member', scopes: ['mcp:read', 'agents:read'] });
  const key: string = made.body.plaintext;
  const namesOf = async (token: string) =>
    (await askMcp(world.api, token, 'tools/list')).body.result.tools.map(({ name }: { name: string }) => name);

  const [ofApp, ofKey] = [await namesOf(await grant('mcp:read')), await namesOf(key)];
  const refused = await callTool(key, 'createRun');

  expect(ofApp).toEqual(await namesOf(tenant.tokens.member));
  expect(ofKey).toContain('getAgent');
  expect(ofKey).not.toContain('createRun');
  expect(refused.status).toBe(403);
  expect(refused.headers['www-authenticate']).toContain('scope="mcp:read agents:read runs:write"');
});

test('*:read holds every reading tool', async () => {
  const called = await callTool(await grant('mcp:read *:read'), 'listAgents');

  expect(called).toMatchObject({ status: 200, body: { result: { structuredContent: { items: expect.any(Array) } } } });
  expect((await world.get('/agents', bearer(tenant.tokens.member))).status).toBe(200);
});
