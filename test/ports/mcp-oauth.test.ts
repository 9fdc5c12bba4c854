import { afterEach, expect, test } from '@jest/globals';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createEgress } from '../../ports/egress/egress.ts';
import { checkPageUrl, type EgressPolicy } from '../../ports/egress/url.ts';
import { askConsent, describeAuth, type OauthWay } from '../../ports/mcp/oauth.ts';

const open: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const one of open.splice(0)) await one.close();
});

interface Place {
  readonly way: OauthWay;
  readonly url: string;
  readonly challenge: string;
  readonly asked: string[];
}

/** A server and its authorization server in one, whose metadata say what `metadata` adds. */
async function place(metadata: Record<string, unknown>, others: readonly string[] = []): Promise<Place> {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? '/', origin);
    asked.push(pathname);
    const documents: Record<string, unknown> = {
      '/resource': { resource: `${origin}/mcp`, authorization_servers: [origin, ...others], scopes_supported: ['tools'] },
      '/.well-known/oauth-authorization-server': {
        issuer: origin,
        authorization_endpoint: `${origin}/authorize`,
        token_endpoint: `${origin}/token`,
        registration_endpoint: `${origin}/register`,
        response_types_supported: ['code'],
        code_challenge_methods_supported: ['S256'],
        ...metadata,
      },
      '/register': { client_id: 'client', redirect_uris: ['https://app.example.com/back'] },
    };
    const document = documents[pathname];
    const status = document === undefined ? 404 : pathname === '/register' ? 201 : 200;
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(document ?? {}));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const origin = `http://127.0.0.1:${port}`;
  const egress = createEgress();
  open.push(egress, { close: async () => void server.close().closeAllConnections() });
  const policy = { allowHttp: false, exceptions: [{ host: '127.0.0.1', port, allow_http: true }] };
  const way = { egress, policy, signal: AbortSignal.timeout(60_000) };
  return { way, url: `${origin}/mcp`, challenge: `Bearer resource_metadata="${origin}/resource"`, asked };
}

const consent = ({ way, url, challenge }: Place) =>
  askConsent(way, { url, challenge, clientId: null, scopes: [], redirectUri: 'https://app.example.com/back' });

test('a consent is asked for where the metadata say', async () => {
  const there = await place({ authorization_endpoint: 'https://login.example.com/authorize?tenant=a' });

  const { url } = await consent(there);

  expect(new URL(url)).toMatchObject({ protocol: 'https:', host: 'login.example.com', pathname: '/authorize' });
});

test.each([
  ['authorization_endpoint', 'file:///etc/passwd'],
  ['authorization_endpoint', 'cursor://anysphere/authorize'],
  ['authorization_endpoint', 'javascript:alert(1)'],
  ['authorization_endpoint', 'http://login.example.com/authorize'],
  ['authorization_endpoint', 'https://bank.example.com:x@login.example.com/authorize'],
  ['token_endpoint', 'file:///etc/passwd'],
  ['token_endpoint', 'http://login.example.com/token'],
  ['token_endpoint', 'https://10.0.0.1/token'],
  ['registration_endpoint', 'ftp://login.example.com/register'],
])('no consent is asked for with the %s %s: nobody is led there, and nothing is registered', async (name, url) => {
  const there = await place({ [name]: url });

  await expect(consent(there)).rejects.toMatchObject({ name: 'McpOauthError' });

  expect(there.asked).not.toContain('/register');
});

test('only web pages are shown as authorization servers', async () => {
  const there = await place({}, ['https://as.example.com', 'file:///a', 'cursor://a', 'http://as.example.com']);

  const { authorizationServers } = await describeAuth(there.way, there.url, there.challenge);

  expect(authorizationServers.map((server) => new URL(server).host)).toEqual([new URL(there.url).host, 'as.example.com']);
});

test.each<[string, EgressPolicy, boolean]>([
  ['http://login.internal:8080/a', { allowHttp: false, exceptions: [] }, false],
  ['http://login.internal:8080/a', { allowHttp: true, exceptions: [] }, true],
  ['http://login.internal:8080/a', { allowHttp: false, exceptions: [{ host: 'login.internal', port: 8080, allow_http: true }] }, true],
  ['http://login.internal:8080/a', { allowHttp: false, exceptions: [{ host: 'login.internal', port: 8080, allow_http: false }] }, false],
  ['https://login.internal:8443/a', { allowHttp: false, exceptions: [] }, true],
  ['data:text/html,x', { allowHttp: true, exceptions: [] }, false],
])('a person may be sent to %s, where the settings are %j: %s', (url, policy, may) => {
  const check = () => checkPageUrl(url, policy);

  if (may) expect(check().href).toBe(url);
  else expect(check).toThrow('the scheme must be https');
});
