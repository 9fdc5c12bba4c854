import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { parseItem } from 'structured-headers';
import { areas } from '../../../api/operations.ts';
import { openApiDocument } from '../../../api/http/openapi/openapi.ts';
import type { Deprecation } from '../../../api/http/openapi/deprecations.ts';
import { startApi, type TestApi } from '../../support/api.ts';
import { bearer, makeTenant } from '../../support/tenant.ts';

interface Parameter {
  readonly name: string;
  readonly in?: string;
}

const entry: Deprecation = {
  id: '01960000-0000-7000-8000-00000000dead',
  kind: 'response_field',
  operationId: 'getVersion',
  component: null,
  pointer: '/responses/200',
  deprecatedAt: new Date('2026-01-01T00:00:00Z'),
  sunsetAt: new Date('2026-06-30T00:00:00Z'),
  replacement: null,
  note: 'On its way out, for this test.',
};

let api: TestApi;
let trusting: TestApi;
beforeAll(async () => {
  [api, trusting] = await Promise.all([
    startApi({ deprecations: [entry], env: { CORS_ORIGINS: 'https://app.test,https://other.test' } }),
    startApi({ env: { TRUSTED_PROXIES: '127.0.0.1' } }),
  ]);
});
afterAll(async () => {
  await api.close();
  await trusting.close();
});

test('a correlation id is taken from a trusted peer, and only if it is a uuid', async () => {
  const given = crypto.randomUUID();
  const askedWith = async (target: TestApi, id: string) => {
    const reply = await fetch(`${target.url}/nothing`, { headers: { 'x-correlation-id': id } });
    return { header: reply.headers.get('x-correlation-id'), text: await reply.text() };
  };

  expect((await askedWith(trusting, given)).header).toBe(given);
  for (const reply of [await askedWith(api, given), await askedWith(trusting, 'not-a-uuid')]) {
    expect(reply.header).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7/);
    expect(reply.text).not.toContain(given);
    expect(reply.text).not.toContain('not-a-uuid');
  }
});

test('a reply may not be kept or sniffed, and sets no cookie', async () => {
  const { headers } = await api.app.inject('/nothing');

  expect(headers).toMatchObject({ 'cache-control': 'no-store', 'x-content-type-options': 'nosniff', 'referrer-policy': 'no-referrer' });
  expect(headers['set-cookie']).toBeUndefined();
});

test('every 401 has a challenge, and one that refuses a token says so', async () => {
  const bare = await api.app.inject('/agents');
  const wrong = await api.app.inject({ url: '/agents', headers: bearer('lh_sk_nonsense') });

  expect([bare.statusCode, bare.json().code]).toEqual([401, 'unauthenticated']);
  expect(bare.headers['www-authenticate']).toBe(
    'Bearer resource_metadata="http://longhaul.test/.well-known/oauth-protected-resource", scope="agents:read"',
  );
  expect(String(wrong.headers['www-authenticate'])).toContain('error="invalid_token"');
});

test('the replies of an operation with a deprecated part say since when, until when and where to read', async () => {
  const { tokens } = await makeTenant(api.db, api.keys);

  for (const headers of [bearer(tokens.viewer), {}]) {
    const reply = await api.app.inject({ url: '/version', headers });

    expect(parseItem(String(reply.headers['deprecation']))[0]).toEqual(new Date('2026-01-01T00:00:00Z'));
    expect(new Date(String(reply.headers['sunset']))).toEqual(entry.sunsetAt);
    expect(reply.headers['link']).toBe(`<http://longhaul.test/deprecations#${entry.id}>; rel="deprecation"`);
  }
  expect((await api.app.inject('/error-codes')).headers['deprecation']).toBeUndefined();
  expect((await api.app.inject('/deprecations')).json()).toMatchObject({
    items: [{ id: entry.id, operation_id: 'getVersion', sunset_at: '2026-06-30T00:00:00.000Z' }],
    next_cursor: null,
  });
});

test.each([
  ['179 days of notice', { sunsetAt: new Date('2026-06-29T00:00:00Z') }],
  ['a pointer to nothing', { pointer: '/responses/299' }],
  ['an operation that does not exist', { operationId: 'getNothing' }],
  ['a component that does not exist', { component: 'NothingView' }],
])('the process refuses to start on %s', async (_what, change) => {
  await expect(startApi({ deprecations: [{ ...entry, ...change }], database: api.database, keys: api.keys })).rejects.toThrow(
    'bad deprecations',
  );
});

test('a list of operations that contradicts itself stops the start', async () => {
  await expect(startApi({ areas: [...areas, ...areas], database: api.database, keys: api.keys })).rejects.toThrow('stands twice');
});

test('listed origins may read replies, others not; public documents are for everyone', async () => {
  const from = (url: string, origin: string) => api.app.inject({ url, headers: { origin } });

  expect((await from('/agents', 'https://app.test')).headers).toMatchObject({
    'access-control-allow-origin': 'https://app.test',
    'vary': 'Origin',
  });
  expect((await from('/agents', 'https://evil.test')).headers['access-control-allow-origin']).toBeUndefined();
  expect((await from('/error-codes', 'https://evil.test')).headers['access-control-allow-origin']).toBe('*');
  expect((await from('/agents', 'https://app.test')).headers['access-control-allow-credentials']).toBeUndefined();
});

test('what varies with the encoding says so beside the origin, a document as a refusal', async () => {
  const varyOf = async (url: string) => (await api.app.inject({ url, headers: { origin: 'https://app.test' } })).headers['vary'];

  expect(await Promise.all(['/redoc', '/openapi.json', '/agents'].map(varyOf))).toEqual([
    'Accept-Encoding, Origin',
    'Accept-Encoding, Origin',
    'Origin',
  ]);
});

test('scripts may send every header that an operation takes, and those of tracing', async () => {
  const { headers } = await api.app.inject({
    method: 'OPTIONS',
    url: '/agents',
    headers: { 'origin': 'https://app.test', 'access-control-request-method': 'POST', 'access-control-request-headers': 'traceparent' },
  });
  const allowed = String(headers['access-control-allow-headers']).toLowerCase().split(', ');
  const document = openApiDocument(areas, { publicUrl: 'https://longhaul.test', audience: 'all' });
  const own = Object.values(document.paths)
    .flatMap((item) => Object.values(item))
    .flatMap((operation) => operation['parameters'] as Parameter[])
    .filter((parameter) => parameter.in === 'header');
  const shared = Object.values(document.components['parameters'] as Record<string, Parameter>);

  // Only pages of the API's own origin may ask for the cookie.
  const names = [...own, ...shared].map(({ name }) => name.toLowerCase()).filter((name) => name !== 'x-refresh-cookie');
  expect(allowed).toEqual(expect.arrayContaining([...names, 'authorization', 'x-api-key', 'content-type', 'last-event-id']));
  expect(allowed).toEqual(expect.arrayContaining(['traceparent', 'tracestate', 'baggage', 'mcp-protocol-version', 'mcp-session-id']));
});

test('scripts may read what a reply says of itself', async () => {
  const reply = await api.app.inject({ url: '/agents', headers: { origin: 'https://app.test' } });
  const exposed = String(reply.headers['access-control-expose-headers']).split(', ');

  // That no reply of any test carries another header is held by test/support/reply-check.ts.
  expect(exposed).toEqual(
    expect.arrayContaining(['Content-Disposition', 'Content-Range', 'Accept-Ranges', 'ETag', 'Location', 'Retry-After', 'Allow']),
  );
});

test('a preflight from a listed origin learns methods and headers, another one nothing', async () => {
  const preflight = (origin: string) =>
    api.app.inject({ method: 'OPTIONS', url: '/agents', headers: { origin, 'access-control-request-method': 'POST' } });

  expect((await preflight('https://app.test')).headers).toMatchObject({
    'access-control-allow-origin': 'https://app.test',
    'access-control-allow-methods': 'GET, HEAD, POST',
    'access-control-allow-headers': expect.stringContaining('Idempotency-Key'),
  });
  expect((await preflight('https://evil.test')).headers['access-control-allow-methods']).toBeUndefined();
});

test('without configured origins nothing is allowed', async () => {
  const reply = await trusting.app.inject({ url: '/agents', headers: { origin: 'https://app.test' } });

  expect(reply.headers['access-control-allow-origin']).toBeUndefined();
});
