import { Client as NewClient, StreamableHTTPClientTransport as NewTransport } from '@modelcontextprotocol/client';
import { Client as OldClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as OldTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { bearer, type TestTenant } from '../../support/tenant.ts';
import { openOauth, type OauthWorld } from '../oauth/client.ts';

// Strict clients refuse plain http: they are told https, and their requests are brought to the listener.
const publicUrl = 'https://longhaul.test';
const redirectUri = 'http://localhost:3118/callback';
const info = { name: 'test', version: '1' };

let world: OauthWorld;
let tenant: TestTenant;
let agentId: string;

beforeAll(async () => {
  world = await openOauth({ env: { PUBLIC_URL: publicUrl, OAUTH_DYNAMIC_REGISTRATION: 'true' } });
  tenant = await world.tenant({ publicUrl });
  const agent = await world.json(tenant.tokens.admin, '/agents', {
    slug: 'a',
    name: 'A',
    revision: { model: 'builtin/extractive', instructions: 'Answer.' },
    activate: true,
  });
  agentId = agent.body.id;
});

afterAll(() => world.close());

/** What a client sent, and the statuses that it got from /mcp. */
interface Wire {
  readonly fetch: (url: URL | string, init?: RequestInit) => Promise<Response>;
  readonly statuses: number[];
  readonly registered: Record<string, unknown>[];
}

function openWire(): Wire {
  const statuses: number[] = [];
  const registered: Record<string, unknown>[] = [];
  return {
    statuses,
    registered,
    async fetch(url, init) {
      const { pathname } = new URL(url);
      if (pathname === '/oauth/register') registered.push(JSON.parse(String(init?.body)));
      const reply = await fetch(String(url).replace(publicUrl, world.api.url), init);
      if (pathname === '/mcp' && init?.method === 'POST') statuses.push(reply.status);
      return reply;
    },
  };
}

/** A client as its author writes one, with its person: who follows each link, signs in and allows `grants` of it, at the first time; then all. */
function newProvider(grants: readonly string[] | null, grantTypes: readonly string[] = ['authorization_code', 'refresh_token']) {
  // Both packages keep what they stored in shapes of their own, and give it back to themselves.
  const kept: Record<string, any> = { verifier: '' }; // oxlint-disable-line typescript/no-explicit-any
  const asked: string[] = [];
  const provider = {
    redirectUrl: redirectUri,
    clientMetadata: {
      redirect_uris: [redirectUri],
      client_name: 'MCP client',
      grant_types: [...grantTypes],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
    },
    state: () => 'mcp-state',
    clientInformation: () => kept['client'],
    saveClientInformation: (client: unknown) => void (kept['client'] = client),
    tokens: () => kept['tokens'],
    saveTokens: (tokens: unknown) => void (kept['tokens'] = tokens),
    saveCodeVerifier: (verifier: string) => void (kept['verifier'] = verifier),
    codeVerifier: () => String(kept['verifier']),
    saveDiscoveryState: (state: unknown) => void (kept['discovery'] = state),
    discoveryState: () => kept['discovery'],
    async redirectToAuthorization(url: URL) {
      const { body } = await world.get(url.pathname + url.search);
      const names: string[] = body.scopes.map(({ name }: { name: string }) => name);
      const isFirst = asked.push(names.join(' ')) === 1;
      const scopes = isFirst && grants !== null ? names.filter((name) => grants.includes(name)) : names;
      const decision = { transaction_id: body.transaction_id, decision: 'approve', scopes };
      kept['back'] = new URL((await world.json(tenant.tokens.member, '/oauth/authorize', decision)).body.redirect_to).searchParams;
    },
  };
  return {
    provider,
    asked,
    granted: () => String(kept['tokens']?.scope),
    /** What the browser brought to the redirect. */
    back: () => ({ code: String(kept['back']?.get('code')), iss: String(kept['back']?.get('iss')) }),
  };
}

const call = { name: 'createRun', arguments: {} };
const runArguments = () => ({ agent_id: agentId, input: { text: 'Hello' } });

/** SDK 1.x: signs in as its own documentation says, connects, and gives what calls a tool, over a consent where one is needed. */
async function connectOld(wire: Wire, { provider, back }: ReturnType<typeof newProvider>) {
  const open = () => new OldTransport(new URL(`${publicUrl}/mcp`), { authProvider: provider, fetch: wire.fetch });
  const first = open();
  await expect(new OldClient(info).connect(first)).rejects.toThrow('Unauthorized');
  await first.finishAuth(back().code);

  const client = new OldClient(info);
  const transport = open();
  await client.connect(transport);
  return { client, stepUp: () => transport.finishAuth(back().code) };
}

/** Client 2.x, likewise. */
async function connectNew(wire: Wire, { provider, back }: ReturnType<typeof newProvider>) {
  const open = () => new NewTransport(new URL(`${publicUrl}/mcp`), { authProvider: provider, fetch: wire.fetch });
  const first = open();
  await expect(new NewClient(info, { versionNegotiation: { mode: 'auto' } }).connect(first)).rejects.toThrow();
  await first.finishAuth(back().code, back().iss);

  const client = new NewClient(info, { versionNegotiation: { mode: 'auto' } });
  const transport = open();
  await client.connect(transport);
  return { client, stepUp: () => transport.finishAuth(back().code, back().iss) };
}

test.each([
  ['1.32', connectOld],
  ['2.4', connectNew],
])('a client that asks for what it is told can use every tool that its person may: %s', async (_name, connect) => {
  const wire = openWire();
  const person = newProvider(null);

  const { client } = await connect(wire, person);
  const { tools } = await client.listTools();
  const run = await client.callTool({ ...call, arguments: runArguments() });
  const read = await client.callTool({ name: 'listRuns', arguments: { limit: 1 } });
  await client.close();

  const { scopes_supported } = (await world.get('/.well-known/oauth-protected-resource/mcp')).body;
  expect(person.asked).toEqual([scopes_supported.join(' ')]);
  expect(wire.registered).toMatchObject([{ scope: scopes_supported.join(' '), redirect_uris: [redirectUri] }]);
  expect(tools.map(({ name }) => name)).toEqual(expect.arrayContaining(['createRun', 'listAgents', 'putRunFeedback']));
  expect(run.structuredContent).toMatchObject({ agent_id: agentId, status: 'queued' });
  expect(read.isError).toBeUndefined();
  expect(wire.statuses).toContain(401);
  expect(wire.statuses).not.toContain(403);
});

test.each([
  // With a refresh token it refreshes first, which widens nothing, and gives up: so it is of this version alone.
  ['1.32 without refresh tokens', connectOld, ['authorization_code']],
  ['2.4', connectNew, ['authorization_code', 'refresh_token']],
])(
  'a client whose grant is too narrow steps up, keeps what it had, and its call is carried out: %s',
  async (_name, connect, grantTypes) => {
    const wire = openWire();
    const person = newProvider(['mcp:read', 'agents:read'], grantTypes);
    const { client, stepUp } = await connect(wire, person);
    const before = person.granted();

    const { tools } = await client.listTools();
    await expect(client.callTool({ ...call, arguments: runArguments() })).rejects.toThrow();
    await stepUp();
    const run = await client.callTool({ ...call, arguments: runArguments() });
    const agents = await client.callTool({ name: 'listAgents', arguments: { limit: 1 } });
    await client.close();

    expect(before).toBe('mcp:read agents:read');
    // It is shown what it may ask for, or it would never ask.
    expect(tools.map(({ name }) => name)).toContain('createRun');
    expect(person.asked).toHaveLength(2);
    expect(person.granted().split(' ')).toEqual(expect.arrayContaining(['mcp:read', 'agents:read', 'runs:write']));
    expect(wire.statuses.filter((status) => status === 403)).toHaveLength(1);
    expect(run.structuredContent).toMatchObject({ agent_id: agentId, status: 'queued' });
    expect(agents.isError).toBeUndefined();
    expect(wire.registered).toHaveLength(1);
  },
);

test('a token that was narrowed on the way is refused as what it lacks, and the API knows nothing of it', async () => {
  const wire = openWire();
  const person = newProvider(['mcp:read']);
  const { client } = await connectNew(wire, person);
  const token = String(person.provider.tokens().access_token);
  await client.close();

  const onMcp = await world.json(
    token,
    '/mcp',
    {
      jsonrpc: '2.0',
      id: 'a',
      method: 'tools/call',
      params: {
        name: 'listAgents',
        _meta: { 'io.modelcontextprotocol/protocolVersion': '2026-07-28', 'io.modelcontextprotocol/clientCapabilities': {} },
      },
    },
    { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': 'listAgents' },
  );

  expect(onMcp).toMatchObject({ status: 403, body: { code: 'scope_insufficient', context: { required_scopes: ['agents:read'] } } });
  expect((await world.get('/agents', bearer(token))).status).toBe(401);
});
