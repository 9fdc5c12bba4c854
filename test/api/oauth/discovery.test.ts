import { createPublicKey } from 'node:crypto';
import { jwtVerify } from 'jose';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { bearer } from '../../support/tenant.ts';
import { grantTo, issuer, openOauth, type OauthWorld } from './client.ts';

let world: OauthWorld;

beforeAll(async () => {
  world = await openOauth();
});

afterAll(() => world.close());

const serverPath = '/.well-known/oauth-authorization-server';
const resourcePath = '/.well-known/oauth-protected-resource';

test('issuer and resources are the URL of the deployment, whatever Host says', async () => {
  const headers = { 'host': 'evil.test', 'x-forwarded-host': 'evil.test' };

  const [server, api, mcp] = await Promise.all([
    world.get(serverPath, headers),
    world.get(resourcePath, headers),
    world.get(`${resourcePath}/mcp`, headers),
  ]);

  expect(server.body.issuer).toBe(issuer);
  expect(api.body).toMatchObject({ resource: issuer, authorization_servers: [issuer], bearer_methods_supported: ['header'] });
  expect(mcp.body).toMatchObject({ resource: `${issuer}/mcp`, authorization_servers: [issuer] });
  expect(JSON.stringify([server.body, api.body, mcp.body])).not.toContain('evil');
  expect((await world.get(`${resourcePath}/other`)).status).toBe(404);
});

test('each document points to the next, and every URL in it is served', async () => {
  const challenge = (await world.get('/agents')).headers['www-authenticate'] ?? '';
  const [, metadataUrl = ''] = /resource_metadata="([^"]+)"/.exec(challenge) ?? [];
  const resource = await world.get(new URL(metadataUrl).pathname);
  const server = await world.get(new URL(serverPath, resource.body.authorization_servers[0]).pathname);
  const urls = Object.values(server.body).filter((value): value is string => typeof value === 'string' && value.startsWith(`${issuer}/`));
  const answers = await Promise.all(urls.map(async (url) => [url, (await world.get(new URL(url).pathname)).status]));

  expect(server.body.issuer).toBe(issuer);
  expect(urls).toHaveLength(6);
  expect(answers.filter(([, status]) => status === 404)).toEqual([]);
});

test('the server says what it does, and nothing is null', async () => {
  const { body } = await world.get(serverPath);

  expect(body).toMatchObject({
    response_types_supported: ['code'],
    grant_types_supported: ['authorization_code', 'refresh_token', 'client_credentials'],
    code_challenge_methods_supported: ['S256'],
    token_endpoint_auth_methods_supported: ['none', 'client_secret_basic', 'client_secret_post'],
    authorization_response_iss_parameter_supported: true,
    client_id_metadata_document_supported: true,
  });
  expect(body.scopes_supported).toEqual(expect.arrayContaining(['runs:read', 'mcp:write', '*:read']));
  expect(body.scopes_supported).not.toContain('*');
  expect(Object.values(body)).not.toContain(null);
});

test('what a resource names as its scopes can be asked for in one request', async () => {
  for (const path of [resourcePath, `${resourcePath}/mcp`])
    expect((await world.get(path)).body.scopes_supported.join(' ').length).toBeLessThanOrEqual(400);
});

test('capabilities tell the same', async () => {
  const { tokens } = await world.tenant();
  const [capabilities, server] = await Promise.all([world.get('/capabilities', bearer(tokens.viewer)), world.get(serverPath)]);

  expect(capabilities.body.oauth).toEqual({
    dynamic_registration: false,
    client_metadata_documents: true,
    scopes: server.body.scopes_supported,
  });
  expect(capabilities.body.features.oauth).toBe(true);
});

test('the published keys verify what is signed, and hold nothing private', async () => {
  const { tokens, users } = await world.tenant();
  const { access } = await grantTo(world, await world.client(tokens.operator), users.member);
  const { body } = await world.get('/oauth/jwks');

  const { protectedHeader } = await jwtVerify(
    access,
    ({ kid }) => createPublicKey({ key: body.keys.find((key: { kid: string }) => key.kid === kid), format: 'jwk' }),
    { issuer, audience: issuer, typ: 'at+jwt' },
  );

  expect(protectedHeader.alg).toBe('EdDSA');
  for (const key of body.keys) expect(Object.keys(key).toSorted()).toEqual(['alg', 'crv', 'kid', 'kty', 'use', 'x']);
});

test('documents may be kept, asked for by ETag, and read from any origin without credentials', async () => {
  for (const path of [serverPath, resourcePath, `${resourcePath}/mcp`, '/oauth/jwks']) {
    const first = await world.get(path, { origin: 'https://app.test' });
    const second = await world.get(path, { 'if-none-match': first.headers['etag'] ?? '' });

    expect(first.headers).toMatchObject({ 'cache-control': 'public, max-age=300', 'access-control-allow-origin': '*' });
    expect(first.headers['access-control-allow-credentials']).toBeUndefined();
    expect(second.status).toBe(304);
  }
});

test.each([
  ['/oauth/token', '*'],
  ['/oauth/revoke', '*'],
  ['/oauth/register', '*'],
  ['/oauth/introspect', undefined],
])('a page of another origin may post to %s: %s', async (path, allowed) => {
  const headers = {
    'origin': 'https://app.test',
    'access-control-request-method': 'POST',
    'access-control-request-headers': 'content-type',
  };

  const preflight = await world.api.app.inject({ method: 'OPTIONS', url: path, headers });
  const answer = await world.form(path, { token: 'x' }, { origin: 'https://app.test' });

  expect(preflight.statusCode).toBe(204);
  expect(preflight.headers['access-control-allow-origin']).toBe(allowed);
  expect(answer.headers['access-control-allow-origin']).toBe(allowed);
});
