import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { faultOfRedirectUri } from '../../../domain/oauth/redirect-uri.ts';
import { bearer } from '../../support/tenant.ts';
import { authorizePath, callback, exchange, grantTo, issuer, openOauth, type OauthWorld, type TestClient } from './client.ts';
import { recordedClients } from './recorded-clients.ts';

let world: OauthWorld;
let closedWorld: OauthWorld;

beforeAll(async () => {
  [world, closedWorld] = await Promise.all([openOauth({ env: { OAUTH_DYNAMIC_REGISTRATION: 'true' } }), openOauth()]);
});

afterAll(() => Promise.all([world.close(), closedWorld.close()]));

const register = (body: unknown) => world.json(null, '/oauth/register', body);
const mcp = `${issuer}/mcp`;

test.each(recordedClients.map((client) => [client.name, client] as const))(
  'a registration as it is published is taken, and signs a user in without a secret: %s',
  async (_name, { body, redirect }) => {
    const { users } = await world.tenant();
    const made = await register(body);
    const client: TestClient = { clientId: made.body.client_id, secret: null, redirectUri: redirect ?? body.redirect_uris[0] ?? '' };

    const started = await world.get(authorizePath(client, { resource: mcp, scope: undefined }));
    const grant = await grantTo(world, client, users.member, { resource: mcp, scope: 'mcp:read agents:read' });

    expect(made).toMatchObject({
      status: 201,
      body: {
        redirect_uris: body.redirect_uris,
        grant_types: expect.arrayContaining(['authorization_code']),
        token_endpoint_auth_method: 'none',
      },
    });
    expect(made.body).not.toHaveProperty('client_secret');
    expect(started.status).toBe(200);
    expect(grant.scope).toBe('mcp:read agents:read');
  },
);

test.each(recordedClients.map((client) => [client.name, client] as const))(
  'an operator registers it, too, while clients may not register themselves: %s',
  async (_name, { body, redirect }) => {
    const { tokens, users } = await closedWorld.tenant();
    const made = await closedWorld.client(tokens.operator, { client_name: 'App', redirect_uris: body.redirect_uris });
    const client = { ...made, redirectUri: redirect ?? made.redirectUri };

    expect((await closedWorld.json(null, '/oauth/register', body)).status).toBe(403);
    expect((await grantTo(closedWorld, client, users.viewer, { resource: mcp, scope: 'mcp:read' })).scope).toBe('mcp:read');
  },
);

test('an operator may give a client with a private scheme a secret', async () => {
  const { tokens } = await world.tenant();
  const made = await world.client(tokens.operator, { redirect_uris: ['cursor://x/cb'], token_endpoint_auth_method: 'client_secret_basic' });

  expect(made.secret).toMatch(/^lh_cs_/);
});

test('a client with a scheme of its own is public whatever it asks for, and is told so', async () => {
  const { users } = await world.tenant();
  const made = await register({ redirect_uris: ['zed://oauth/callback', callback], token_endpoint_auth_method: 'client_secret_post' });
  const client: TestClient = { clientId: made.body.client_id, secret: null, redirectUri: 'zed://oauth/callback' };

  expect(made).toMatchObject({ status: 201, body: { token_endpoint_auth_method: 'none' } });
  expect(made.body).not.toHaveProperty('client_secret');
  expect((await grantTo(world, client, users.viewer)).access).toBeTruthy();
});

test('without its verifier a code that another application has caught is worth nothing', async () => {
  const { tokens } = await world.tenant();
  const made = await register({ redirect_uris: ['zed://oauth/callback'] });
  const client: TestClient = { clientId: made.body.client_id, secret: null, redirectUri: 'zed://oauth/callback' };
  const started = await world.get(authorizePath(client));
  const decided = await world.json(tokens.member, '/oauth/authorize', { transaction_id: started.body.transaction_id, decision: 'approve' });
  const code = new URL(decided.body.redirect_to).searchParams.get('code') ?? '';

  const caught = await exchange(world, client, { code, verifier: 'x'.repeat(43) });

  expect(decided.body.redirect_to).toMatch(/^zed:\/\/oauth\/callback\?code=lh_ac_/);
  expect(caught).toMatchObject({ status: 400, body: { error: 'invalid_grant' } });
});

test('people are shown the whole address under a private scheme, with a warning; of a web address its host', async () => {
  const uri = 'cursor://anysphere.cursor-mcp/oauth/callback';
  const made = await register({ client_name: 'Cursor', redirect_uris: [uri, callback] });
  const asked = async (redirectUri: string) =>
    (await world.get(authorizePath({ clientId: made.body.client_id, secret: null, redirectUri }))).body;

  expect(await asked(uri)).toMatchObject({ redirect_host: uri, warnings: ['private_scheme', 'self_registered'] });
  expect(await asked(callback)).toMatchObject({ redirect_host: 'app.test', warnings: ['self_registered'] });
});

test.each([
  ...'javascript data vbscript file ftp http ws about blob filesystem view-source'.split(' '),
  ...'chrome chrome-extension devtools edge moz-extension resource jar microsoft-edge googlechrome'.split(' '),
  ...'mailto tel sms urn magnet web+app ext+app matrix xmpp webcal'.split(' '),
  ...'intent android-app content market itms-services applescript shortcuts facetime x-apple.systempreferences'.split(' '),
  ...'ms-settings ms-msdt search-ms shell hcp res mk vnd.ms.radio ie.http c'.split(' '),
  ...'ssh telnet ldap smb nfs localhost'.split(' '),
  ...'Cursor CURSOR 1app cur_sor cursor%3a'.split(' '),
])('a scheme of browsers, systems or protocols is no application’s own, not even to an operator: %s', async (scheme) => {
  const { tokens } = await world.tenant();

  for (const uri of [`${scheme}://x/callback`, `${scheme}:/callback`]) {
    const body = { client_name: 'App', redirect_uris: [uri], token_endpoint_auth_method: 'none' };
    expect(await register(body)).toMatchObject({ status: 400, body: { error: 'invalid_redirect_uri' } });
    expect((await world.json(tokens.operator, '/oauth-clients', body)).status).toBe(422);
  }
});

test.each(['localhost:3000/callback', 'app.example.com:8080/callback', 'cursor:callback', 'cursor:', 'urn:ietf:wg:oauth:2.0:oob'])(
  'what has no slash after its colon is a slip, or a payload: %s',
  async (uri) => {
    expect(await register({ redirect_uris: [uri] })).toMatchObject({ status: 400, body: { error: 'invalid_redirect_uri' } });
  },
);

test('whatever the letters of a scheme, no redirect gets by as another scheme than the browser sees', () => {
  fc.assert(
    fc.property(fc.stringMatching(/^[A-Za-z][A-Za-z0-9+.-]{0,12}$/), fc.constantFrom('://x/cb', ':/cb', ':cb'), (scheme, rest) => {
      fc.pre(faultOfRedirectUri(scheme + rest) === null);

      expect(new URL(scheme + rest).protocol).toBe(`${scheme}:`);
      expect(rest).not.toBe(':cb');
    }),
    { numRuns: 3_000, seed: 20_265 },
  );
});

test('what register answers as scope can be asked for in one request', async () => {
  const { users } = await world.tenant();
  const made = await register({ redirect_uris: [callback] });
  const client: TestClient = { clientId: made.body.client_id, secret: null, redirectUri: callback };

  const grant = await grantTo(world, client, users.owner, { scope: made.body.scope });

  expect(made.body.scope.length).toBeGreaterThan(400);
  expect(grant.scope).toBe(made.body.scope);
  expect((await world.get('/agents', bearer(grant.access))).status).toBe(200);
});

test('an operator’s bound on a client holds, and what goes beyond it is left out; a client’s own word is no bound', async () => {
  const { tokens, users } = await world.tenant();
  const bound = await world.client(tokens.operator, { scope: 'mcp:read agents:read' });
  const made = await register({ redirect_uris: [callback], scope: 'mcp:read agents:read' });
  const own: TestClient = { clientId: made.body.client_id, secret: null, redirectUri: callback };
  const scope = 'mcp:read agents:read runs:write';
  const scopesOf = async (client: TestClient, more: Readonly<Record<string, string | undefined>>) =>
    (await grantTo(world, client, users.member, { resource: mcp, ...more })).scope;

  expect(await scopesOf(bound, { scope })).toBe('mcp:read agents:read');
  expect(await scopesOf(own, { scope: undefined })).toBe('mcp:read agents:read');
  expect(await scopesOf(own, { scope })).toBe(scope);
});
