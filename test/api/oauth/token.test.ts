import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { bearer } from '../../support/tenant.ts';
import { approve, exchange, grantTo, issuer, openOauth, refresh, type OauthWorld } from './client.ts';

let world: OauthWorld;

beforeAll(async () => {
  world = await openOauth();
});

afterAll(() => world.close());

test('a user approves, the client exchanges the code, calls the API, refreshes and goes on', async () => {
  const { tokens, users } = await world.tenant();
  const client = await world.client(tokens.operator);

  const code = await approve(world, client, { token: tokens.member });
  const issued = await exchange(world, client, code);
  const me = await world.get('/auth/me', bearer(issued.body.access_token));
  const renewed = await refresh(world, client, issued.body.refresh_token);
  const again = await world.get('/auth/me', bearer(renewed.body.access_token));

  expect(code.redirect.origin + code.redirect.pathname).toBe(client.redirectUri);
  expect(Object.fromEntries(code.redirect.searchParams)).toEqual({ code: expect.stringMatching(/^lh_ac_/), state: 'state-1', iss: issuer });
  expect(issued).toMatchObject({ status: 200, headers: { 'cache-control': 'no-store' } });
  expect(issued.body).toEqual({
    access_token: expect.any(String),
    token_type: 'Bearer',
    expires_in: 600,
    refresh_token: expect.stringMatching(/^lh_rt_/),
    scope: 'runs:read agents:read',
  });
  expect(me).toMatchObject({
    status: 200,
    body: { principal_kind: 'user', client_id: client.clientId, user: { id: users.member.id }, scopes: ['runs:read', 'agents:read'], session: { kind: 'oauth', client_name: 'Test app' } },
  });
  expect(renewed.status).toBe(200);
  expect(again.status).toBe(200);
  void grantTo;
});
