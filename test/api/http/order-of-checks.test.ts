import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { startApi, type TestApi } from '../../support/api.ts';
import { bearer, makeTenant, type TestTenant } from '../../support/tenant.ts';

let api: TestApi;
let tenant: TestTenant;
let stranger: TestTenant;
beforeAll(async () => {
  api = await startApi({ env: { RATE_LIMITS: 'principal=40/60' } });
  [tenant, stranger] = await Promise.all([makeTenant(api.db, api.keys), makeTenant(api.db, api.keys)]);
});
afterAll(() => api.close());

interface Ask {
  readonly method?: 'GET' | 'POST' | 'PATCH' | 'PUT';
  readonly url: string;
  readonly token?: string;
  readonly headers?: Record<string, string>;
  readonly payload?: string;
}

const json = { 'content-type': 'application/json' };
const code = async ({ method = 'POST', url, token, headers, payload }: Ask): Promise<string> =>
  (
    await api.app.inject({
      method,
      url,
      headers: { ...(token === undefined ? {} : bearer(token)), ...headers },
      ...(payload === undefined ? {} : { payload }),
    })
  ).json().code;

async function makeAgent(): Promise<string> {
  const made = await api.app.inject({
    method: 'POST',
    url: '/agents',
    headers: bearer(tenant.organizationAdmin.token),
    payload: { slug: `a-${crypto.randomUUID()}`, name: 'Agent' },
  });
  return made.json().id;
}

test('an unknown path comes before everything', async () => {
  expect(await code({ url: '/nothing', headers: { 'content-type': 'text/plain' }, payload: 'x' })).toBe('not_found');
});

test('a wrong method comes before body and credential', async () => {
  expect(await code({ method: 'PUT', url: '/agents', headers: { 'content-type': 'text/plain' }, payload: 'x' })).toBe('method_not_allowed');
});

test('the size of a body comes before its type, its type before the credential', async () => {
  expect(await code({ url: '/agents', headers: { 'content-type': 'text/plain' }, payload: 'x'.repeat(1_048_577) })).toBe(
    'payload_too_large',
  );
  expect(await code({ url: '/agents', headers: { 'content-type': 'text/plain' }, payload: 'x' })).toBe('unsupported_media_type');
});

test('the credential comes before the rate, the shape and the row: anonymous and invalid is 401', async () => {
  expect(await code({ url: '/agents', headers: json, payload: '{"nonsense":1}' })).toBe('unauthenticated');
  expect(await code({ url: '/agents', token: 'lh_sk_nonsense', headers: json, payload: '{bad' })).toBe('credential_invalid');
});

test('the floor comes before the shape, even before broken JSON', async () => {
  expect(await code({ url: '/agents', token: tenant.tokens.viewer, headers: json, payload: '{"nonsense":1}' })).toBe('role_insufficient');
  expect(await code({ url: '/agents', token: tenant.tokens.viewer, headers: json, payload: '{bad' })).toBe('role_insufficient');
});

test('the shape comes before the row', async () => {
  expect(
    await code({
      method: 'PATCH',
      url: `/agents/${crypto.randomUUID()}`,
      token: tenant.tokens.member,
      headers: json,
      payload: '{"nonsense":1}',
    }),
  ).toBe('validation_failed');
});

test('that a row is not one’s own comes before its version: it does not exist', async () => {
  const id = await makeAgent();

  expect(
    await code({
      method: 'PATCH',
      url: `/agents/${id}`,
      token: stranger.tokens.admin,
      headers: { ...json, 'if-match': '"stale"' },
      payload: '{"name":"x"}',
    }),
  ).toBe('not_found');
});

test('the version comes before the state', async () => {
  const [taken, id] = [`taken-${crypto.randomUUID()}`, await makeAgent()];
  await api.app.inject({
    method: 'POST',
    url: '/agents',
    headers: bearer(tenant.organizationAdmin.token),
    payload: { slug: taken, name: 'Agent' },
  });

  expect(
    await code({
      method: 'PATCH',
      url: `/agents/${id}`,
      token: tenant.organizationAdmin.token,
      headers: { ...json, 'if-match': '"stale"' },
      payload: JSON.stringify({ slug: taken }),
    }),
  ).toBe('precondition_failed');
});

test('the rate comes before the floor', async () => {
  const { tokens } = await makeTenant(api.db, api.keys);
  for (let spent = 0; spent < 40; spent += 1) await code({ method: 'GET', url: '/version', token: tokens.viewer });

  expect(await code({ url: '/agents', token: tokens.viewer, headers: json, payload: '{bad' })).toBe('rate_limited');
  expect(await code({ url: '/agents', token: `${tokens.viewer}x`, headers: json, payload: '{bad' })).toBe('credential_invalid');
});

test('a replay passes the credential and the floor anew', async () => {
  const key = crypto.randomUUID();
  const ask = (token: string) => ({
    url: '/agents',
    token,
    headers: { ...json, 'idempotency-key': key },
    payload: '{"slug":"again","name":"Again"}',
  });
  await code(ask(tenant.tokens.member));

  expect(await code(ask(`${tenant.tokens.member}x`))).toBe('credential_invalid');
  expect(await code(ask(tenant.tokens.viewer))).toBe('role_insufficient');
});
