import { auth, type FetchLike, type OAuthClientProvider } from '@modelcontextprotocol/client';
import * as openid from 'openid-client';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { bearer, type TestTenant } from '../../support/tenant.ts';
import { callback, documentsOf, openOauth, type OauthWorld, type TestClient } from './client.ts';

// Strict clients refuse plain http: they are told https, and their requests are brought to the listener.
const publicUrl = 'https://longhaul.test';
const documentUrl = 'https://client.test/metadata.json';
const document = {
  client_id: documentUrl,
  client_name: 'Document client',
  redirect_uris: [callback],
  grant_types: ['authorization_code', 'refresh_token'],
  response_types: ['code'],
  token_endpoint_auth_method: 'none',
};
/** A whole message for the endpoint, so that only the token decides. */
const message = {
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/list',
  params: { _meta: { 'io.modelcontextprotocol/protocolVersion': '2026-07-28', 'io.modelcontextprotocol/clientCapabilities': {} } },
};
const messageHeaders = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/list' };
const callMcp = (token: string | null) => world.json(token, '/mcp', message, messageHeaders);

let world: OauthWorld;
let tenant: TestTenant;
let here: FetchLike;

beforeAll(async () => {
  world = await openOauth({
    env: { PUBLIC_URL: publicUrl, OAUTH_DYNAMIC_REGISTRATION: 'true' },
    egress: documentsOf({ [documentUrl]: document }),
  });
  tenant = await world.tenant({ publicUrl });
  here = (url, init) => fetch(String(url).replace(publicUrl, world.api.url), init);
});

afterAll(() => world.close());

/** The user follows the link, signs in elsewhere and approves; gives where the browser is sent. */
async function consent(url: URL): Promise<URL> {
  const started = await world.get(url.pathname + url.search);
  const decided = await world.json(tenant.tokens.member, '/oauth/authorize', {
    transaction_id: started.body.transaction_id,
    decision: 'approve',
  });
  return new URL(decided.body.redirect_to);
}

test.each(['public', 'client_secret_basic', 'client_secret_post'])(
  'openid-client: discovery, code with PKCE, API, refresh, introspection, revocation (%s)',
  async (method) => {
    const made = await world.client(tenant.tokens.operator, { token_endpoint_auth_method: method === 'public' ? 'none' : method });
    const authentication =
      method === 'public'
        ? openid.None()
        : method === 'client_secret_basic'
          ? openid.ClientSecretBasic(made.secret ?? '')
          : openid.ClientSecretPost(made.secret ?? '');
    const config = await openid.discovery(new URL(publicUrl), made.clientId, undefined, authentication, {
      algorithm: 'oauth2',
      // The library's own kind of fetch takes the same arguments.
      [openid.customFetch]: here as openid.CustomFetch,
    });
    const verifier = openid.randomPKCECodeVerifier();
    const state = openid.randomState();

    const url = openid.buildAuthorizationUrl(config, {
      redirect_uri: callback,
      scope: 'runs:read agents:read',
      resource: publicUrl,
      state,
      code_challenge: await openid.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
    });
    const tokens = await openid.authorizationCodeGrant(config, await consent(url), { pkceCodeVerifier: verifier, expectedState: state });
    const reply = await openid.fetchProtectedResource(config, tokens.access_token, new URL(`${publicUrl}/agents`), 'GET');
    const renewed = await openid.refreshTokenGrant(config, tokens.refresh_token ?? '');
    const told = await openid.tokenIntrospection(config, renewed.access_token);
    await openid.tokenRevocation(config, renewed.refresh_token ?? '');

    expect(reply.status).toBe(200);
    expect(renewed.scope).toBe('runs:read agents:read');
    expect(told.active).toBe(method !== 'public');
    await expect(openid.refreshTokenGrant(config, renewed.refresh_token ?? '')).rejects.toMatchObject({ error: 'invalid_grant' });
    expect((await world.get('/agents', bearer(renewed.access_token))).status).toBe(401);
  },
);

test('openid-client: client_credentials', async () => {
  const made = await world.client(tenant.tokens.operator, {
    grant_types: ['client_credentials'],
    token_endpoint_auth_method: 'client_secret_basic',
    organization_id: tenant.organizationId,
    role: 'viewer',
    scope: 'agents:read',
  });
  const config = await openid.discovery(new URL(publicUrl), made.clientId, undefined, openid.ClientSecretBasic(made.secret ?? ''), {
    algorithm: 'oauth2',
    // The library's own kind of fetch takes the same arguments.
    [openid.customFetch]: here as openid.CustomFetch,
  });

  const tokens = await openid.clientCredentialsGrant(config, { scope: 'agents:read' });

  expect((await world.get('/agents', bearer(tokens.access_token))).status).toBe(200);
});

/** An MCP client as its author writes one; `known` is what it has been given beforehand. */
function providerOf(known: TestClient | 'document' | 'register'): OAuthClientProvider & { readonly sentTo: URL[] } {
  const kept: {
    client?: Awaited<ReturnType<OAuthClientProvider['clientInformation']>>;
    tokens?: Awaited<ReturnType<OAuthClientProvider['tokens']>>;
    discovery?: Parameters<NonNullable<OAuthClientProvider['saveDiscoveryState']>>[0];
    verifier: string;
  } = {
    client:
      typeof known === 'string'
        ? undefined
        : { client_id: known.clientId, issuer: publicUrl, ...(known.secret === null ? {} : { client_secret: known.secret }) },
    verifier: '',
  };
  const sentTo: URL[] = [];
  return {
    sentTo,
    redirectUrl: callback,
    ...(known === 'document' ? { clientMetadataUrl: documentUrl } : {}),
    clientMetadata: {
      redirect_uris: [callback],
      client_name: 'MCP client',
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
    },
    state: () => 'mcp-state',
    clientInformation: () => kept.client,
    saveClientInformation: (client) => void (kept.client = client),
    tokens: () => kept.tokens,
    saveTokens: (tokens) => void (kept.tokens = tokens),
    redirectToAuthorization: (url) => void sentTo.push(url),
    saveCodeVerifier: (verifier) => void (kept.verifier = verifier),
    codeVerifier: () => kept.verifier,
    saveDiscoveryState: (state) => void (kept.discovery = state),
    discoveryState: () => kept.discovery,
  };
}

test.each(['pre-registered, public', 'pre-registered, with a secret', 'document', 'registered'])(
  'an MCP client signs in: %s',
  async (kind) => {
    const known =
      kind === 'document'
        ? 'document'
        : kind === 'registered'
          ? 'register'
          : await world.client(
              tenant.tokens.operator,
              kind.endsWith('public') ? {} : { token_endpoint_auth_method: 'client_secret_basic' },
            );
    const provider = providerOf(known);
    const challenge = (await callMcp(null)).headers['www-authenticate'] ?? '';
    const [, metadataUrl = ''] = /resource_metadata="([^"]+)"/.exec(challenge) ?? [];
    const options = { serverUrl: `${publicUrl}/mcp`, fetchFn: here, resourceMetadataUrl: new URL(metadataUrl) };

    const first = await auth(provider, options);
    const back = await consent(provider.sentTo[0] ?? new URL(publicUrl));
    const second = await auth(provider, {
      ...options,
      authorizationCode: back.searchParams.get('code') ?? '',
      iss: back.searchParams.get('iss') ?? '',
    });
    const tokens = await provider.tokens();
    const called = await callMcp(tokens?.access_token ?? '');
    const third = await auth(provider, options);

    expect([first, second, third]).toEqual(['REDIRECT', 'AUTHORIZED', 'AUTHORIZED']);
    expect(provider.sentTo[0]?.searchParams.get('resource')).toBe(`${publicUrl}/mcp`);
    expect(called.status).toBe(200);
    expect(called.body.result.tools).toEqual(expect.arrayContaining([expect.objectContaining({ name: 'listAgents' })]));
    if (kind === 'document') expect(provider.sentTo[0]?.searchParams.get('client_id')).toBe(documentUrl);
    // The third round was a refresh: other tokens, which work too.
    const renewed = await provider.tokens();
    expect(renewed?.refresh_token).not.toBe(tokens?.refresh_token);
    expect((await callMcp(renewed?.access_token ?? '')).status).toBe(200);
  },
);

test('an MCP client of the API itself asks for what the API names, and gets in', async () => {
  const provider = providerOf(await world.client(tenant.tokens.operator));
  const options = { serverUrl: publicUrl, fetchFn: here };

  await auth(provider, options);
  const back = await consent(provider.sentTo[0] ?? new URL(publicUrl));
  await auth(provider, { ...options, authorizationCode: back.searchParams.get('code') ?? '', iss: back.searchParams.get('iss') ?? '' });
  const tokens = await provider.tokens();

  expect(tokens?.scope?.split(' ')).toContain('*:read');
  expect((await world.get('/agents', bearer(tokens?.access_token ?? ''))).status).toBe(200);
});
