import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { basic, callback, newPkce, openOauth, type Answer, type Fields, type OauthWorld } from './client.ts';
import { reasonedDifferences } from './oracle-differences.ts';
import { codeOf, oracle, ours, proof, resource, type ClientName, type Compared } from './oracle.ts';

let world: OauthWorld;
let sides: readonly [Compared, Compared];

beforeAll(async () => {
  world = await openOauth({ env: { OAUTH_DYNAMIC_REGISTRATION: 'true', PUBLIC_URL: resource } });
  sides = await Promise.all([ours(world), oracle()]);
});

afterAll(async () => {
  await Promise.all(sides.map((side) => side.close()));
  await world.close();
});

/** One request as either side is asked it; gives the verdict. */
type Case = (server: Compared) => Promise<string>;

const told = ({ status, body }: Answer): string => (status < 300 ? 'ok' : `${status} ${body?.error ?? ''}`.trim());
const cases = new Map<string, Case>();

// Authorization requests: one thing wrong at a time.
const authorizing: Record<string, Record<string, string | undefined>> = {
  'nothing wrong': {},
  'no client_id': { client_id: undefined },
  'empty client_id': { client_id: '' },
  'unknown client_id': { client_id: 'unknown' },
  'no redirect_uri': { redirect_uri: undefined },
  'redirect + slash': { redirect_uri: `${callback}/` },
  'redirect + query': { redirect_uri: `${callback}?a=b` },
  'redirect + fragment': { redirect_uri: `${callback}#x` },
  'redirect in capitals': { redirect_uri: callback.toUpperCase() },
  'redirect: host in capitals': { redirect_uri: callback.replace('app.test', 'APP.test') },
  'redirect: other port': { redirect_uri: callback.replace('.test', '.test:8443') },
  'redirect: default port': { redirect_uri: callback.replace('.test', '.test:443') },
  'redirect: other scheme': { redirect_uri: callback.replace('https', 'http') },
  'redirect: other host': { redirect_uri: 'https://evil.test/callback' },
  'redirect: subdomain': { redirect_uri: 'https://x.app.test/callback' },
  'redirect: suffix': { redirect_uri: 'https://app.test.evil.test/callback' },
  'redirect: userinfo': { redirect_uri: 'https://a@app.test/callback' },
  'redirect: dots': { redirect_uri: 'https://app.test/x/../callback' },
  'redirect: encoded': { redirect_uri: 'https://app.test/%63allback' },
  'redirect: shorter': { redirect_uri: callback.slice(0, -1) },
  'redirect: relative': { redirect_uri: '/callback' },
  'redirect: script': { redirect_uri: 'javascript:alert(1)' },
  'no response_type': { response_type: undefined },
  'response_type token': { response_type: 'token' },
  'response_type id_token': { response_type: 'id_token' },
  'response_type code token': { response_type: 'code token' },
  'response_type none': { response_type: 'none' },
  'response_type unknown': { response_type: 'x' },
  'no code_challenge': { code_challenge: undefined },
  'code_challenge of 42 characters': { code_challenge: 'a'.repeat(42) },
  'code_challenge of 44 characters': { code_challenge: 'a'.repeat(44) },
  'code_challenge with =': { code_challenge: `${'a'.repeat(42)}=` },
  'code_challenge with space': { code_challenge: `${'a'.repeat(42)} ` },
  'no code_challenge_method': { code_challenge_method: undefined },
  'code_challenge_method plain': { code_challenge_method: 'plain' },
  'code_challenge_method s256': { code_challenge_method: 's256' },
  'code_challenge_method unknown': { code_challenge_method: 'S512' },
  'neither challenge nor method': { code_challenge: undefined, code_challenge_method: undefined },
  'no scope': { scope: undefined },
  'one scope': { scope: 'runs:read' },
  'all scopes of the client': { scope: 'runs:read agents:read runs:write' },
  'scope twice': { scope: 'runs:read runs:read' },
  'unknown scope': { scope: 'runs:read unknown' },
  'scope beyond the client': { scope: 'agents:write' },
  'no resource': { resource: undefined },
  'the resource': { resource },
  'the second resource': { resource: `${resource}/mcp` },
  'unknown resource': { resource: 'https://other.test' },
  'resource that is no URI': { resource: 'x' },
  'resource with a fragment': { resource: `${resource}#x` },
  'no state': { state: undefined },
  'long state': { state: 's'.repeat(500) },
  'unknown parameter': { whatever: '1' },
};
for (const [name, parameters] of Object.entries(authorizing))
  cases.set(`authorize: ${name}`, (server) => authorized(server, 'open', parameters));
for (const name of ['response_type', 'client_id', 'redirect_uri', 'scope', 'state', 'code_challenge', 'code_challenge_method']) {
  cases.set(`authorize: ${name} twice`, (server) => authorized(server, 'open', {}, `&${name}=x`));
}
for (const [name, uri] of Object.entries({
  'the registered port': 'http://127.0.0.1:8080/cb',
  'another port': 'http://127.0.0.1:9999/cb',
  'no port': 'http://127.0.0.1/cb',
  'another path': 'http://127.0.0.1:8080/other',
  'localhost instead': 'http://localhost:8080/cb',
  'IPv6 instead': 'http://[::1]:8080/cb',
  'https instead': 'https://127.0.0.1:8080/cb',
})) {
  cases.set(`authorize: loopback, ${name}`, (server) => authorized(server, 'local', { redirect_uri: uri }));
}
for (const name of ['basic', 'post', 'codeOnly', 'machine'] as const)
  cases.set(`authorize: client ${name}`, (server) => authorized(server, name, {}));

async function authorized(
  server: Compared,
  name: ClientName,
  parameters: Record<string, string | undefined>,
  more?: string,
): Promise<string> {
  const client = server.clients[name];
  return (await server.authorize({ client_id: client.clientId, redirect_uri: client.redirectUri, ...parameters }, more)).verdict;
}

// Exchanges of a good code with one thing wrong.
const exchanging: Record<string, Record<string, string | undefined>> = {
  'nothing wrong': {},
  'no code': { code: undefined },
  'empty code': { code: '' },
  'unknown code': { code: 'unknown' },
  'no redirect_uri': { redirect_uri: undefined },
  'redirect + slash': { redirect_uri: `${callback}/` },
  'redirect in capitals': { redirect_uri: callback.toUpperCase() },
  'other redirect': { redirect_uri: 'https://evil.test/callback' },
  'no verifier': { code_verifier: undefined },
  'empty verifier': { code_verifier: '' },
  'other verifier': { code_verifier: newPkce().verifier },
  'verifier of 42 characters': { code_verifier: 'a'.repeat(42) },
  'verifier of 129 characters': { code_verifier: 'a'.repeat(129) },
  'verifier with a space': { code_verifier: `${'a'.repeat(43)} b` },
  'no grant_type': { grant_type: undefined },
  'grant_type unknown': { grant_type: 'unknown' },
  'grant_type password': { grant_type: 'password' },
  'grant_type implicit': { grant_type: 'implicit' },
  'no client_id': { client_id: undefined },
  'empty client_id': { client_id: '' },
  'unknown client_id': { client_id: 'unknown' },
  'a secret of a public client': { client_secret: 'x' },
  'unknown field': { whatever: '1' },
  'the resource': { resource },
  'another resource': { resource: `${resource}/mcp` },
  'unknown resource': { resource: 'https://other.test' },
};
for (const name of ['open', 'basic', 'post'] as const) {
  for (const [what, fields] of Object.entries(exchanging)) {
    if (name !== 'open' && /redirect|verifier of|unknown field|grant_type [pi]|resource|public/.test(what)) continue;
    cases.set(`token, code, ${name}: ${what}`, (server) => exchanged(server, name, fields));
  }
}
for (const field of ['grant_type', 'code', 'redirect_uri', 'code_verifier', 'client_id']) {
  cases.set(`token, code: ${field} twice`, async (server) => {
    const fields = await exchangeFields(server, 'open', {});
    return told(await server.form('token', [...Object.entries(fields), [field, fields[field] ?? '']]));
  });
}
cases.set('token, code: used twice', async (server) => {
  const fields = await exchangeFields(server, 'open', {});
  return `${told(await server.form('token', fields))}, ${told(await server.form('token', fields))}`;
});
cases.set('token, code: used twice, the refresh token afterwards', async (server) => {
  const fields = await exchangeFields(server, 'open', {});
  const first = await server.form('token', fields);
  await server.form('token', fields);
  return told(
    await server.form('token', { grant_type: 'refresh_token', refresh_token: first.body.refresh_token, ...proof(server, 'open').fields }),
  );
});
cases.set('token, code: of another client', async (server) => {
  const fields = await exchangeFields(server, 'open', {});
  return told(await server.form('token', { ...fields, client_id: server.clients.other.clientId }));
});
cases.set('token: JSON', async (server) => told(await server.json('token', { grant_type: 'authorization_code' })));

async function exchangeFields(
  server: Compared,
  name: ClientName,
  wrong: Record<string, string | undefined>,
): Promise<Record<string, string>> {
  const { code, verifier, redirect_uri } = await codeOf(server, name);
  const all = { grant_type: 'authorization_code', code, code_verifier: verifier, redirect_uri, ...proof(server, name).fields, ...wrong };
  return Object.fromEntries(Object.entries(all).filter((entry): entry is [string, string] => entry[1] !== undefined));
}

async function exchanged(server: Compared, name: ClientName, wrong: Record<string, string | undefined>): Promise<string> {
  return told(await server.form('token', await exchangeFields(server, name, wrong), proof(server, name).headers));
}

// Client authentication, on a grant that would be refused afterwards: the verdict tells how far one came.
const attempt = { grant_type: 'refresh_token', refresh_token: 'unknown' };
const encoded = (text: string | Buffer) => ({ authorization: `Basic ${Buffer.from(text).toString('base64')}` });
const authenticating: Record<string, (server: Compared) => { fields: Record<string, string>; headers?: Record<string, string> }> = {
  'basic as registered': (server) => ({ fields: {}, headers: basic(server.clients.basic) }),
  'basic, scheme in small letters': (server) => ({
    fields: {},
    headers: { authorization: basic(server.clients.basic).authorization.replace('Basic', 'basic') },
  }),
  'basic with its client_id in the form': (server) => ({
    fields: { client_id: server.clients.basic.clientId },
    headers: basic(server.clients.basic),
  }),
  'basic with another client_id in the form': (server) => ({
    fields: { client_id: server.clients.post.clientId },
    headers: basic(server.clients.basic),
  }),
  'basic and secret in the form': (server) => ({
    fields: { client_id: server.clients.basic.clientId, client_secret: server.clients.basic.secret ?? '' },
    headers: basic(server.clients.basic),
  }),
  'basic, wrong secret': (server) => ({ fields: {}, headers: basic({ ...server.clients.basic, secret: 'wrong' }) }),
  'basic, empty secret': (server) => ({ fields: {}, headers: basic({ ...server.clients.basic, secret: '' }) }),
  'basic, unknown client': () => ({ fields: {}, headers: basic({ clientId: 'unknown', secret: 'x' }) }),
  'basic of a client of post': (server) => ({ fields: {}, headers: basic(server.clients.post) }),
  'basic of a public client': (server) => ({ fields: {}, headers: basic({ ...server.clients.open, secret: 'x' }) }),
  'basic without colon': () => ({ fields: {}, headers: encoded('no-colon') }),
  'basic, bad escape': () => ({ fields: {}, headers: encoded('a%zz:b') }),
  'basic, bad UTF-8': () => ({ fields: {}, headers: encoded(Buffer.from([0xff, 0x3a, 0x61])) }),
  'basic, no base64': () => ({ fields: {}, headers: { authorization: 'Basic ***' } }),
  'bare Basic': () => ({ fields: {}, headers: { authorization: 'Basic' } }),
  'bearer': () => ({ fields: {}, headers: { authorization: 'Bearer x' } }),
  'post as registered': (server) => ({
    fields: { client_id: server.clients.post.clientId, client_secret: server.clients.post.secret ?? '' },
  }),
  'post, wrong secret': (server) => ({ fields: { client_id: server.clients.post.clientId, client_secret: 'wrong' } }),
  'post, no secret': (server) => ({ fields: { client_id: server.clients.post.clientId } }),
  'post, empty secret': (server) => ({ fields: { client_id: server.clients.post.clientId, client_secret: '' } }),
  'post of a client of basic': (server) => ({
    fields: { client_id: server.clients.basic.clientId, client_secret: server.clients.basic.secret ?? '' },
  }),
  'post, secret without client': () => ({ fields: { client_secret: 'x' } }),
  'none as registered': (server) => ({ fields: { client_id: server.clients.open.clientId } }),
  'none of a confidential client': (server) => ({ fields: { client_id: server.clients.basic.clientId } }),
  'nothing at all': () => ({ fields: {} }),
};
for (const [name, make] of Object.entries(authenticating)) {
  cases.set(`client: ${name}`, async (server) => {
    const { fields, headers } = make(server);
    return told(await server.form('token', { ...attempt, ...fields }, headers));
  });
}

// Refresh, client_credentials, revocation, introspection.
const refreshing: Record<string, Record<string, string>> = {
  'nothing wrong': {},
  'empty token': { refresh_token: '' },
  'narrower scope': { scope: 'runs:read' },
  'the same scope': { scope: 'runs:read agents:read' },
  'wider scope': { scope: 'runs:read agents:read runs:write' },
  'unknown scope': { scope: 'unknown' },
  'the resource': { resource },
  'unknown resource': { resource: 'https://other.test' },
};
for (const [name, fields] of Object.entries(refreshing)) {
  cases.set(`refresh: ${name}`, async (server) =>
    told(await server.form('token', { ...(await refreshFields(server, 'open')), ...fields })),
  );
}
cases.set('refresh: by another client', async (server) =>
  told(await server.form('token', { ...(await refreshFields(server, 'open')), client_id: server.clients.other.clientId })),
);
cases.set('refresh: twice', async (server) => {
  const fields = await refreshFields(server, 'open');
  return `${told(await server.form('token', fields))}, ${told(await server.form('token', fields))}`;
});
cases.set('refresh: a client without that grant gets no token for it', async (server) =>
  String('refresh_token' in (await tokensOf(server, 'codeOnly')).body),
);

const machines: Record<string, Fields> = {
  'nothing wrong': {},
  'its scope': { scope: 'runs:read' },
  'unknown scope': { scope: 'unknown' },
  'scope beyond it': { scope: 'agents:write' },
  'the resource': { resource },
  'unknown resource': { resource: 'https://other.test' },
};
for (const [name, fields] of Object.entries(machines)) {
  cases.set(`client_credentials: ${name}`, async (server) =>
    told(await server.form('token', { grant_type: 'client_credentials', ...fields }, proof(server, 'machine').headers)),
  );
}
cases.set('client_credentials: no refresh token', async (server) => {
  const { body } = await server.form('token', { grant_type: 'client_credentials' }, proof(server, 'machine').headers);
  return String('refresh_token' in body);
});
cases.set('client_credentials: a client without that grant', async (server) =>
  told(await server.form('token', { grant_type: 'client_credentials' }, proof(server, 'basic').headers)),
);
cases.set('client_credentials: a public client', async (server) =>
  told(await server.form('token', { grant_type: 'client_credentials', ...proof(server, 'open').fields })),
);

for (const path of ['revoke', 'introspect'] as const) {
  cases.set(`${path}: no token`, async (server) => told(await server.form(path, {}, proof(server, 'basic').headers)));
  cases.set(`${path}: garbage`, async (server) => told(await server.form(path, { token: 'x' }, proof(server, 'basic').headers)));
  cases.set(`${path}: garbage with an unknown hint`, async (server) =>
    told(await server.form(path, { token: 'x', token_type_hint: 'x' }, proof(server, 'basic').headers)),
  );
  cases.set(`${path}: nobody`, async (server) => told(await server.form(path, { token: 'x' })));
  cases.set(`${path}: wrong secret`, async (server) =>
    told(await server.form(path, { token: 'x' }, basic({ ...server.clients.basic, secret: 'wrong' }))),
  );
}
cases.set('revoke: the refresh token, then refresh', async (server) => {
  const fields = await refreshFields(server, 'open');
  const revoked = await server.form('revoke', { token: fields['refresh_token'] ?? '', ...proof(server, 'open').fields });
  return `${told(revoked)}, ${told(await server.form('token', fields))}`;
});
cases.set('introspect: own access token', async (server) => active(server, 'basic', (await tokensOf(server, 'basic')).body.access_token));
cases.set('introspect: own refresh token', async (server) => active(server, 'basic', (await tokensOf(server, 'basic')).body.refresh_token));
cases.set('introspect: garbage is not active', async (server) => active(server, 'basic', 'garbage'));

async function active(server: Compared, name: ClientName, token: string): Promise<string> {
  const { fields, headers } = proof(server, name);
  return String((await server.form('introspect', { token, ...fields }, headers)).body.active);
}

async function tokensOf(server: Compared, name: ClientName): Promise<Answer> {
  return server.form('token', await exchangeFields(server, name, {}), proof(server, name).headers);
}

async function refreshFields(server: Compared, name: ClientName): Promise<Record<string, string>> {
  const { body } = await tokensOf(server, name);
  return { grant_type: 'refresh_token', refresh_token: body.refresh_token, ...proof(server, name).fields };
}

// Registration and metadata.
const registering: Record<string, unknown> = {
  'nothing wrong': { redirect_uris: [callback] },
  'no redirect': {},
  'an empty list': { redirect_uris: [] },
  'redirects as text': { redirect_uris: callback },
  'http': { redirect_uris: ['http://app.test/cb'] },
  'fragment': { redirect_uris: [`${callback}#x`] },
  'script': { redirect_uris: ['javascript:alert(1)'] },
  'relative': { redirect_uris: ['/cb'] },
  'loopback, native': { redirect_uris: ['http://127.0.0.1/cb'], application_type: 'native' },
  'private scheme, native': { redirect_uris: ['com.example.app:/cb'], application_type: 'native' },
  'scheme without a dot, native': { redirect_uris: ['app:/cb'], application_type: 'native' },
  'unknown member': { redirect_uris: [callback], whatever: 1 },
  'method basic': { redirect_uris: [callback], token_endpoint_auth_method: 'client_secret_basic' },
  'method post': { redirect_uris: [callback], token_endpoint_auth_method: 'client_secret_post' },
  'method unknown': { redirect_uris: [callback], token_endpoint_auth_method: 'x' },
  'grant unknown': { redirect_uris: [callback], grant_types: ['authorization_code', 'x'] },
  'response type unknown': { redirect_uris: [callback], response_types: ['x'] },
  'response type without grant': { redirect_uris: [callback], grant_types: ['refresh_token'] },
  'unknown scope': { redirect_uris: [callback], scope: 'unknown' },
  'a list': [],
};
for (const [name, body] of Object.entries(registering))
  cases.set(`register: ${name}`, async (server) => told(await server.json('register', body)));
cases.set('register: a public client gets no secret', async (server) =>
  String('client_secret' in (await server.json('register', { redirect_uris: [callback], token_endpoint_auth_method: 'none' })).body),
);
cases.set('metadata: issuer', async (server) => String((await server.metadata()).body.issuer === server.issuer));
cases.set('metadata: S256 only', async (server) => String((await server.metadata()).body.code_challenge_methods_supported));
cases.set('metadata: iss in the answer', async (server) =>
  String((await server.metadata()).body.authorization_response_iss_parameter_supported),
);

test('there are about 150 cases, and each reasoned difference is one of them', () => {
  expect(cases.size).toBeGreaterThan(150);
  expect(Object.keys(reasonedDifferences).filter((name) => !cases.has(name))).toEqual([]);
});

test.each([...cases])('%s', async (name, ask) => {
  const [own, theirs] = await Promise.all(sides.map(ask));
  const difference = reasonedDifferences[name];

  expect({ ours: own, oracle: theirs }).toEqual(
    difference ? { ours: difference.ours, oracle: difference.oracle } : { ours: theirs, oracle: theirs },
  );
});
