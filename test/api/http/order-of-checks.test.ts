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

/** A tool that a revision may name and not be activated with. */
async function makeInactiveTool(): Promise<string> {
  const slug = `t${Math.random().toString(36).slice(2)}`;
  const payload = { slug, kind: 'builtin', description: 'Tells the time.', config: { name: 'current_time' }, is_active: false };
  await api.app.inject({ method: 'POST', url: '/tools', headers: bearer(tenant.tokens.admin), payload });
  return slug;
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

test('that a row may not be changed comes before its version', async () => {
  const id = await makeAgent();
  const patch = { method: 'PATCH', url: `/agents/${id}`, headers: { ...json, 'if-match': '"stale"' }, payload: '{"name":"x"}' } as const;

  expect(await code({ ...patch, token: tenant.tokens.owner })).toBe('resource_forbidden');
  expect(await code({ ...patch, token: tenant.organizationOwner.token })).toBe('precondition_failed');
});

test('that a version must be named comes before the state', async () => {
  const made = await api.app.inject({
    method: 'POST',
    url: '/agents',
    headers: bearer(tenant.tokens.admin),
    payload: { slug: `a-${crypto.randomUUID()}`, name: 'Agent', revision: { tools: [{ slug: await makeInactiveTool() }] } },
  });
  const revisions = await api.app.inject({ url: `/agents/${made.json().id}/revisions`, headers: bearer(tenant.tokens.admin) });
  const url = `/agents/${made.json().id}/revisions/${revisions.json().items[0].id}/activate`;

  expect(await code({ url, token: tenant.tokens.admin })).toBe('precondition_required');
  expect(await code({ url, token: tenant.tokens.admin, headers: { 'if-match': '"stale"' } })).toBe('precondition_failed');
  expect(await code({ url, token: tenant.tokens.admin, headers: { 'if-match': '*' } })).toBe('state_conflict');
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
