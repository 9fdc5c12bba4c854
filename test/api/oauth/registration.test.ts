import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { rows } from '../../../db/sql.ts';
import { sweep } from '../../../db/transaction.ts';
import { bearer } from '../../support/tenant.ts';
import {
  approve,
  authorizePath,
  basic,
  callback,
  exchange,
  grantTo,
  issuer,
  openOauth,
  type OauthWorld,
  type TestClient,
} from './client.ts';

let world: OauthWorld;
let closedWorld: OauthWorld;

beforeAll(async () => {
  [world, closedWorld] = await Promise.all([openOauth({ env: { OAUTH_DYNAMIC_REGISTRATION: 'true' } }), openOauth()]);
});

afterAll(() => Promise.all([world.close(), closedWorld.close()]));

const register = (body: unknown, headers = {}) => world.json(null, '/oauth/register', body, headers);

test('while off, registering is 403 for valid and invalid bodies alike, with error a string', async () => {
  const bodies = [{ redirect_uris: [callback] }, {}, { redirect_uris: 7 }, '{', '[]'];

  const answers = await Promise.all(bodies.map((body) => closedWorld.json(null, '/oauth/register', body)));

  for (const answer of answers) {
    expect(answer).toMatchObject({ status: 403, body: { code: 'registration_disabled', error: 'access_denied', errors: [] } });
    expect(answer.headers['content-type']).toBe('application/json; charset=utf-8');
  }
});

test('registration_endpoint appears only while on', async () => {
  const metadata = async (from: OauthWorld) => (await from.get('/.well-known/oauth-authorization-server')).body;

  expect((await metadata(world)).registration_endpoint).toBe(`${issuer}/oauth/register`);
  expect(await metadata(closedWorld)).not.toHaveProperty('registration_endpoint');
});

test('a client registers with what it must say, and metadata that is unknown does not hinder it', async () => {
  const made = await register({
    redirect_uris: [callback, 'http://localhost:3000/cb'],
    client_name: 'Some app',
    application_type: 'native',
    resource: `${issuer}/mcp`,
    logo_uri: null,
    grant_types: ['authorization_code', 'refresh_token', 'urn:ietf:params:oauth:grant-type:device_code'],
    scope: 'openid runs:read',
    contacts: [{}],
  });

  expect(made.status).toBe(201);
  expect(made.body).toEqual({
    client_id: expect.stringMatching(/^lh_oc_[\w-]{22}$/),
    client_id_issued_at: expect.any(Number),
    registration_access_token: expect.stringMatching(/^lh_rg_[\w-]{43}$/),
    registration_client_uri: `${issuer}/oauth/register/${made.body.client_id}`,
    redirect_uris: [callback, 'http://localhost:3000/cb'],
    client_name: 'Some app',
    token_endpoint_auth_method: 'none',
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    scope: 'runs:read',
  });
  expect(JSON.stringify(made.body)).not.toContain('null');
});

test('a confidential client gets a secret once, and signs users in with it', async () => {
  const { tokens } = await world.tenant();
  const made = await register({
    redirect_uris: [callback],
    token_endpoint_auth_method: 'client_secret_post',
    grant_types: null,
    client_name: null,
  });
  const client: TestClient = { clientId: made.body.client_id, secret: made.body.client_secret, redirectUri: callback };
  const read = await world.get(`/oauth/register/${client.clientId}`, bearer(made.body.registration_access_token));
  const code = await approve(world, client, { token: tokens.member });

  expect(made.body).toMatchObject({
    client_secret: expect.stringMatching(/^lh_cs_/),
    client_secret_expires_at: 0,
    grant_types: ['authorization_code'],
    client_name: 'app.test',
  });
  expect(read.body).not.toHaveProperty('client_secret');
  expect(read.body).toMatchObject({ client_id: client.clientId, registration_access_token: made.body.registration_access_token });
  expect((await exchange(world, client, code)).status).toBe(401);
  expect((await exchange(world, client, code, { client_secret: client.secret ?? '' })).status).toBe(200);
});

test.each([
  ['no redirects', {}],
  ['an empty list of redirects', { redirect_uris: [] }],
  ['eleven redirects', { redirect_uris: Array.from({ length: 11 }, (_, at) => `${callback}/${at}`) }],
  ['redirects that are no texts', { redirect_uris: [7] }],
  ['a name that is too long', { redirect_uris: [callback], client_name: 'x'.repeat(201) }],
  ['no usable grant', { redirect_uris: [callback], grant_types: ['client_credentials'] }],
  ['no usable response type', { redirect_uris: [callback], response_types: ['token'] }],
  ['an unknown method', { redirect_uris: [callback], token_endpoint_auth_method: 'private_key_jwt' }],
])('%s is 422 invalid_client_metadata', async (_name, body) => {
  const refused = await register(body);

  expect(refused).toMatchObject({ status: 422, body: { code: 'validation_failed', error: 'invalid_client_metadata' } });
  expect(refused.body.errors.length).toBeGreaterThan(0);
});

test.each([
  'http://app.test/cb',
  'https://app.test/cb#x',
  'https://user@app.test/cb',
  'https://user:pass@app.test/cb',
  'javascript:alert(1)',
  'data:text/html,x',
  'app:cb',
  'file:///etc/passwd',
  '/relative',
  'https://',
  'https:app.test/cb',
  'https://app.test\\@evil.test/',
  'https://app.test/a b',
  'https://0x7f.1/cb',
  'http://127.1/cb',
  'http://localhost.evil.test/cb',
  'http://10.0.0.1/cb',
  'com.example.app://user@x/cb',
  '',
])('the redirect %s is 400 invalid_redirect_uri', async (uri) => {
  const refused = await register({ redirect_uris: [callback, uri] });

  expect(refused).toMatchObject({
    status: 400,
    body: { code: 'oauth_request_invalid', error: 'invalid_redirect_uri', errors: [{ pointer: '/redirect_uris/1' }] },
  });
});

test.each([
  'https://app.test',
  'https://app.test:8443/cb?x=1',
  'http://127.0.0.1/cb',
  'http://[::1]:9/cb',
  'http://localhost',
  'com.example.app:/cb',
  'com.example.app://cb',
  'app:/cb',
])('the redirect %s is fine, and authorize takes it', async (uri) => {
  const made = await register({ redirect_uris: [uri] });
  const started = await world.get(authorizePath({ clientId: made.body.client_id, secret: null, redirectUri: uri }));

  expect([made.status, started.status]).toEqual([201, 200]);
  expect(started.body.warnings).toContain('self_registered');
});

test('reading and deleting need the registration token; an unknown client and a wrong token are one answer', async () => {
  const [mine, other] = [await register({ redirect_uris: [callback] }), await register({ redirect_uris: [callback] })];
  const { client_id: id, registration_access_token: token } = mine.body;
  const told = async (path: string, headers: Record<string, string>) => {
    const { status, body, headers: given } = await world.get(path, headers);
    return [status, body.code, body.error, body.detail, body.context, given['www-authenticate']];
  };

  const wrong = await Promise.all([
    told(`/oauth/register/${id}`, bearer(other.body.registration_access_token)),
    told(`/oauth/register/lh_oc_unknown`, bearer(token)),
    told(`/oauth/register/${id}`, bearer('x')),
  ]);
  const deletedByOther = await world.remove(`/oauth/register/${id}`, other.body.registration_access_token);

  expect(wrong[0]?.slice(0, 3)).toEqual([401, 'credential_invalid', 'invalid_token']);
  expect(new Set(wrong.map((answer) => JSON.stringify(answer))).size).toBe(1);
  expect((await world.get(`/oauth/register/${id}`)).status).toBe(401);
  expect(deletedByOther.status).toBe(401);
  expect((await world.get(`/oauth/register/${id}`, bearer(token))).status).toBe(200);
});

test('a deleted registration ends every grant, of whatever tenant, and its token', async () => {
  const [one, two] = [await world.tenant(), await world.tenant()];
  const made = await register({ redirect_uris: [callback], grant_types: ['authorization_code', 'refresh_token'] });
  const client: TestClient = { clientId: made.body.client_id, secret: null, redirectUri: callback };
  const [first, second] = [await grantTo(world, client, one.users.member), await grantTo(world, client, two.users.viewer)];

  const removed = await world.remove(`/oauth/register/${client.clientId}`, made.body.registration_access_token);
  const audit = await sweep(world.api.db, (em) =>
    rows(em, "select actor_kind, organization_id, resource_label from audit_entries where operation_id = 'deleteOauthClientRegistration'"),
  );

  expect(removed.status).toBe(204);
  for (const { access } of [first, second])
    expect(await world.get('/auth/me', bearer(access))).toMatchObject({ status: 401, body: { code: 'session_revoked' } });
  expect((await world.get(`/oauth/register/${client.clientId}`, bearer(made.body.registration_access_token))).status).toBe(401);
  expect((await world.remove(`/oauth/register/${client.clientId}`, made.body.registration_access_token)).status).toBe(401);
  expect(
    (await world.form('/oauth/token', { grant_type: 'refresh_token', refresh_token: first.refresh, client_id: client.clientId })).status,
  ).toBe(401);
  expect(audit).toEqual([{ actor_kind: 'system', organization_id: null, resource_label: 'app.test' }]);
});

test('no secret and no token of a client stands in the database in plain', async () => {
  const made = await register({ redirect_uris: [callback], token_endpoint_auth_method: 'client_secret_basic' });
  const stored = await sweep(world.api.db, (em) =>
    rows<{ text: string }>(
      em,
      "select c::text || coalesce(string_agg(a::text, ''), '') as text from oauth_clients c left join audit_entries a on a.resource_id = c.id::text where c.client_id = ? group by c.*, c.id",
      [made.body.client_id],
    ),
  );

  expect(stored).toHaveLength(1);
  expect(stored[0]?.text).not.toContain(made.body.client_secret);
  expect(stored[0]?.text).not.toContain(made.body.registration_access_token);
  expect(
    (await world.form('/oauth/token', { grant_type: 'x' }, basic({ clientId: made.body.client_id, secret: made.body.client_secret }))).body
      .error,
  ).toBe('unsupported_grant_type');
});

test('ten registrations an hour from one address', async () => {
  const strict = await openOauth({ env: { OAUTH_DYNAMIC_REGISTRATION: 'true', RATE_LIMITS: 'anonymous=100000/60' } });
  const answers: number[] = [];

  for (let at = 0; at < 11; at += 1) answers.push((await strict.json(null, '/oauth/register', { redirect_uris: [callback] })).status);
  const limited = await strict.json(null, '/oauth/register', {});
  await strict.close();

  expect(answers).toEqual([...Array.from({ length: 10 }, () => 201), 429]);
  expect(limited.body).toMatchObject({ error: 'temporarily_unavailable', context: { violated_policies: ['oauth_register'] } });
});

test('a registration that its own limit refuses uses up nothing of what its address has for other requests', async () => {
  const strict = await openOauth({ env: { OAUTH_DYNAMIC_REGISTRATION: 'true', RATE_LIMITS: 'anonymous=50/86400,oauth_register=1/86400' } });
  const register = () => strict.json(null, '/oauth/register', { redirect_uris: [callback] });

  const made = await register();
  const refused = [await register(), await register()];
  await strict.close();

  expect(made).toMatchObject({ status: 201, headers: { ratelimit: expect.stringContaining('"anonymous";r=49') } });
  for (const { status, headers } of refused) {
    expect(status).toBe(429);
    // What refused comes first, in both.
    expect(headers['ratelimit']).toMatch(/^"oauth_register";r=0;t=\d+, "anonymous";r=49;t=\d+$/);
    expect(headers['ratelimit-policy']).toBe('"oauth_register";q=1;w=86400, "anonymous";q=50;w=86400');
  }
});
