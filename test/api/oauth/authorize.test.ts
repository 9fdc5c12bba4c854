import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { sweep } from '../../../db/transaction.ts';
import { change } from '../../../db/sql.ts';
import { bearer } from '../../support/tenant.ts';
import { age, approve, authorizePath, callback, exchange, issuer, openOauth, type OauthWorld, type TestClient } from './client.ts';

let world: OauthWorld;
let client: TestClient;
let operator: string;

beforeAll(async () => {
  world = await openOauth();
  operator = (await world.tenant()).tokens.operator;
  client = await world.client(operator);
});

afterAll(() => world.close());

test('the transaction says who asks for what, and where the answer goes', async () => {
  const started = await world.get(authorizePath(client, { resource: `${issuer}/mcp`, anything: 'else' }));

  expect(started.status).toBe(200);
  expect(started.body).toEqual({
    transaction_id: expect.stringMatching(/^lh_tx_[\w-]{43}$/),
    client: { client_id: client.clientId, client_name: 'Test app', kind: 'preregistered' },
    redirect_host: 'app.test',
    scopes: [
      { name: 'runs:read', description: expect.any(String) },
      { name: 'agents:read', description: expect.any(String) },
    ],
    resource: `${issuer}/mcp`,
    warnings: [],
    expires_at: expect.any(String),
  });
});

test('the scopes that nobody asks for are those of the client, else reading, and what the tools of the MCP endpoint need', async () => {
  const narrow = await world.client(operator, { scope: 'runs:read runs:write' });
  const scopesOf = async (path: string) => (await world.get(path)).body.scopes.map(({ name }: { name: string }) => name);

  expect(await scopesOf(authorizePath(client, { scope: undefined }))).toEqual(['*:read']);
  expect(await scopesOf(authorizePath(client, { scope: undefined, resource: `${issuer}/mcp` }))).toEqual(
    (await world.get('/.well-known/oauth-protected-resource/mcp')).body.scopes_supported,
  );
  expect(await scopesOf(authorizePath(narrow, { scope: undefined }))).toEqual(['runs:read', 'runs:write']);
});

test.each([
  ['no client', { client_id: undefined }, 'invalid_request'],
  ['an unknown client', { client_id: 'lh_oc_unknown' }, 'invalid_client'],
  ['a client that is too long', { client_id: 'x'.repeat(1_025) }, 'invalid_request'],
  ['no redirect', { redirect_uri: undefined }, 'invalid_request'],
  ['a redirect with a slash more', { redirect_uri: `${callback}/` }, 'invalid_request'],
  ['a redirect in other letters', { redirect_uri: callback.replace('app', 'App') }, 'invalid_request'],
  ['a redirect with a port', { redirect_uri: callback.replace('.test', '.test:444') }, 'invalid_request'],
  ['a redirect with a query', { redirect_uri: `${callback}?x=1` }, 'invalid_request'],
  ['a redirect without its end', { redirect_uri: callback.slice(0, -1) }, 'invalid_request'],
  ['another scheme', { redirect_uri: callback.replace('https', 'http') }, 'invalid_request'],
])('%s is 400 and sends nobody anywhere, not even a browser', async (_name, parameters, error) => {
  for (const accept of ['application/json', 'text/html']) {
    const refused = await world.get(authorizePath(client, parameters), { accept });

    expect(refused.status).toBe(400);
    expect(refused.headers['location']).toBeUndefined();
    // A browser is shown a page: see consent-page.test.ts.
    if (accept === 'text/html') expect(refused.headers['content-type']).toMatch(/^text\/html/);
    else expect(refused.body).toMatchObject({ code: 'oauth_request_invalid', error, context: {} });
  }
});

test.each([
  ['no response type', { response_type: undefined }, 'invalid_request'],
  ['another response type', { response_type: 'token' }, 'unsupported_response_type'],
  ['no challenge', { code_challenge: undefined }, 'invalid_request'],
  ['a challenge that is too short', { code_challenge: 'abc' }, 'invalid_request'],
  ['no method', { code_challenge_method: undefined }, 'invalid_request'],
  ['the method plain', { code_challenge_method: 'plain' }, 'invalid_request'],
  ['an unknown scope', { scope: 'runs:read openid' }, 'invalid_scope'],
  ['the scope of service keys', { scope: '*' }, 'invalid_scope'],
  ['two spaces between scopes', { scope: 'runs:read  agents:read' }, 'invalid_scope'],
  ['an unknown resource', { resource: 'https://other.test' }, 'invalid_target'],
  ['a resource with a longer path', { resource: `${issuer}/mcp/x` }, 'invalid_target'],
])('%s is told to the client by its redirect', async (_name, parameters, error) => {
  const json = await world.get(authorizePath(client, parameters));
  const browser = await world.get(authorizePath(client, parameters), { accept: 'text/html,application/xhtml+xml;q=0.9' });

  const sentTo = new URL(json.body.context.redirect_to);
  expect(json).toMatchObject({ status: 400, body: { code: 'oauth_request_invalid', error } });
  expect(sentTo.origin + sentTo.pathname).toBe(callback);
  expect(Object.fromEntries(sentTo.searchParams)).toEqual({ error, error_description: expect.any(String), state: 'state-1', iss: issuer });
  expect(browser).toMatchObject({ status: 303, headers: { location: sentTo.href }, body: null });
});

test.each(['scope', 'state', 'code_challenge', 'resource'])('a repeated %s is invalid_request, sent to the redirect', async (name) => {
  const refused = await world.get(`${authorizePath(client)}&${name}=x&${name}=x`);

  expect(refused).toMatchObject({ status: 400, body: { error: 'invalid_request' } });
  expect(new URL(refused.body.context.redirect_to).searchParams.get('state')).toBe(name === 'state' ? null : 'state-1');
});

test.each(['client_id', 'redirect_uri'])('a repeated %s sends nobody anywhere', async (name) => {
  const refused = await world.get(`${authorizePath(client)}&${name}=${encodeURIComponent(callback)}`);

  expect(refused).toMatchObject({ status: 400, body: { error: 'invalid_request', context: {} } });
});

test('a state that is too long is refused and not sent back', async () => {
  const refused = await world.get(authorizePath(client, { state: 's'.repeat(501) }));

  expect(refused.body.error).toBe('invalid_request');
  expect(new URL(refused.body.context.redirect_to).searchParams.has('state')).toBe(false);
});

test('a client is held to its scopes and grants', async () => {
  const { organizationId } = await world.tenant();
  const narrow = await world.client(operator, { scope: 'runs:read' });
  const machine = await world.client(operator, {
    grant_types: ['client_credentials'],
    token_endpoint_auth_method: 'client_secret_basic',
    organization_id: organizationId,
    role: 'viewer',
  });

  expect((await world.get(authorizePath(narrow, { scope: 'agents:read' }))).body.error).toBe('invalid_scope');
  expect((await world.get(authorizePath(machine))).body.error).toBe('unauthorized_client');
});

test('each transaction takes one decision: of two at once one, afterwards none', async () => {
  const { tokens } = await world.tenant();
  const started = await world.get(authorizePath(client));
  const decide = (decision: string) =>
    world.json(tokens.viewer, '/oauth/authorize', { transaction_id: started.body.transaction_id, decision });

  const answers = await Promise.all([decide('approve'), decide('approve'), decide('deny')]);
  const later = await decide('approve');

  expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 409, 409]);
  expect(later).toMatchObject({ status: 409, body: { code: 'state_conflict', context: { reason: 'already_decided' } } });
});

test('an unknown transaction is 404, one that has run out 410', async () => {
  const { tokens } = await world.tenant();
  const started = await world.get(authorizePath(client));
  const decide = (id: string) => world.json(tokens.viewer, '/oauth/authorize', { transaction_id: id, decision: 'approve' });

  await age(world, "update oauth_transactions set expires_at = now() - interval '1 second' where id_hash = sha256(?::bytea)", [
    Buffer.from(started.body.transaction_id),
  ]);

  expect(await decide(`lh_tx_${'A'.repeat(43)}`)).toMatchObject({ status: 404, body: { code: 'not_found' } });
  expect(await decide(started.body.transaction_id)).toMatchObject({ status: 410, body: { code: 'gone' } });
});

test('a denial goes back as access_denied, and no code is made', async () => {
  const { tokens } = await world.tenant();
  const started = await world.get(authorizePath(client));

  const denied = await world.json(tokens.member, '/oauth/authorize', { transaction_id: started.body.transaction_id, decision: 'deny' });
  const sentTo = new URL(denied.body.redirect_to);

  expect(denied.status).toBe(200);
  expect(Object.fromEntries(sentTo.searchParams)).toEqual({
    error: 'access_denied',
    error_description: expect.any(String),
    state: 'state-1',
    iss: issuer,
  });
});

test('the user may grant some of the scopes, and no other', async () => {
  const { tokens } = await world.tenant();
  const started = await world.get(authorizePath(client));
  const body = { transaction_id: started.body.transaction_id, decision: 'approve' };

  const more = await world.json(tokens.member, '/oauth/authorize', { ...body, scopes: ['runs:read', 'runs:write'] });
  const none = await world.json(tokens.member, '/oauth/authorize', { ...body, scopes: [] });
  const some = await exchange(world, client, await approve(world, client, { token: tokens.member, scopes: ['agents:read'] }));

  expect(more).toMatchObject({ status: 422, body: { errors: [{ pointer: '/scopes/1' }] } });
  expect(none.status).toBe(422);
  expect(some.body.scope).toBe('agents:read');
});

test('only the live session of a user decides: no key, no OAuth token, no acting, no restricted session', async () => {
  const { tokens, serviceKey, users } = await world.tenant();
  const strict = await world.tenant({ requireMfa: true });
  const { body: oauth } = await exchange(world, client, await approve(world, client, { token: tokens.member }));
  const started = await world.get(authorizePath(client));
  const body = { transaction_id: started.body.transaction_id, decision: 'approve' };
  const decide = (token: string | null, headers = {}) => world.json(token, '/oauth/authorize', body, headers);

  expect(await decide(null)).toMatchObject({ status: 401, body: { code: 'unauthenticated' } });
  expect(await decide(serviceKey.plaintext)).toMatchObject({
    status: 403,
    body: { code: 'scope_insufficient', context: { reason: 'user_session_required' } },
  });
  expect(await decide(oauth.access_token)).toMatchObject({ status: 403, body: { context: { reason: 'user_session_required' } } });
  expect(await decide(tokens.admin, { 'x-acting-user': users.member.id })).toMatchObject({
    status: 403,
    body: { context: { reason: 'delegation_not_allowed' } },
  });
  expect(await decide(strict.tokens.member)).toMatchObject({
    status: 401,
    body: { code: 'mfa_required', context: { reason: 'enrolment_required' } },
  });
  expect((await decide(tokens.viewer)).status).toBe(200);
});

test('a decision that meets the end of its session gives no code', async () => {
  const { tokens, users } = await world.tenant();
  const started = await world.get(authorizePath(client));
  const body = { transaction_id: started.body.transaction_id, decision: 'approve' };

  const deciding = await sweep(world.api.db, async (em) => {
    await change(em, 'update sessions set revoked_at = now() where id = ?', [users.member.sessionId]);
    // In hand before it is waited for: the session is seen as live, and gone once this has been committed.
    const asked = world.json(users.member.token, '/oauth/authorize', body);
    await delay(300);
    return { asked };
  });

  expect(await deciding.asked).toMatchObject({ status: 401, body: { code: 'session_revoked' } });
  expect((await world.json(tokens.admin, '/oauth/authorize', body)).status).toBe(200);
});

test('a client that was deleted meanwhile gets no code', async () => {
  const { tokens } = await world.tenant();
  const gone = await world.client(operator);
  const started = await world.get(authorizePath(gone));

  await world.remove(`/oauth-clients/${gone.clientId}`, operator);
  const decided = await world.json(tokens.member, '/oauth/authorize', { transaction_id: started.body.transaction_id, decision: 'approve' });

  expect(decided).toMatchObject({ status: 400, body: { code: 'oauth_request_invalid', error: 'invalid_client' } });
  expect((await world.get(authorizePath(gone))).body.error).toBe('invalid_client');
});

test('loopback redirects may come from any port, and people are told', async () => {
  const local = await world.client(operator, { redirect_uris: ['http://127.0.0.1:8080/cb', 'http://localhost/cb'] });
  const started = (redirect_uri: string) => world.get(authorizePath(local, { redirect_uri }));

  expect(await started('http://127.0.0.1:54321/cb')).toMatchObject({
    status: 200,
    body: { warnings: ['loopback_only'], redirect_host: '127.0.0.1:54321' },
  });
  expect((await started('http://localhost:9/cb')).status).toBe(200);
  expect((await started('http://localhost/cb')).status).toBe(200);
  expect((await started('http://127.0.0.1:8080/cb/')).status).toBe(400);
  expect((await started('http://127.0.0.2:8080/cb')).status).toBe(400);
  expect((await started('http://[::1]:8080/cb')).status).toBe(400);
});

test('an operator grants too, within what operators see of others', async () => {
  const { tokens } = await world.tenant();
  const issued = await exchange(world, client, await approve(world, client, { token: tokens.operator, parameters: { scope: '*:read' } }));

  const me = await world.get('/auth/me', bearer(issued.body.access_token));
  const organizations = await world.get('/system/status', bearer(issued.body.access_token));

  expect(me.body).toMatchObject({ role: 'operator', scopes: ['*:read'] });
  expect(organizations).toMatchObject({ status: 403, body: { code: 'scope_insufficient' } });
});
