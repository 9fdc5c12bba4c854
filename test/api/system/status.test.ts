import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { LightMyRequestResponse } from 'fastify';
import { startApi, type TestApi } from '../../support/api.ts';
import { until } from '../../support/temporal.ts';
import { bearer, makeTenant, type TestTenant } from '../../support/tenant.ts';

const statements: string[] = [];
let api: TestApi;
let tenant: TestTenant;
beforeAll(async () => {
  api = await startApi({ onQuery: (sql) => statements.push(sql) });
  tenant = await makeTenant(api.db, api.keys, { requireMfa: false });
});
afterAll(() => api.close());

const ask = (url: string, token: string) => api.app.inject({ url, headers: bearer(token) });

test('the version names contract, protocol and build', async () => {
  expect((await ask('/version', tenant.tokens.viewer)).json()).toEqual({
    product: 'longhaul',
    contract_version: '0.1.0',
    stream_protocol: 2,
    agent_import_schema_version: 1,
    build: { version: '0.1.0', commit: null, built_at: null },
  });
});

test('the capabilities tell limits and quotas and cost one query beyond authentication', async () => {
  statements.length = 0;
  const { body } = await ask('/capabilities', tenant.tokens.viewer);

  expect(JSON.parse(body)).toMatchObject({
    limits: { page_max: 200, body_bytes: 1_048_576 },
    mfa: { required: false },
    embeddings: { default_model: 'hash-v1', models: [{ name: 'hash-v1', dim: 1_024 }] },
    websocket_path: '/ws/runs/{run_id}',
  });
  expect(JSON.parse(body).rate_limits).toContainEqual({ policy: 'principal', quota: 1_200, window_s: 60 });
  expect(statements.filter((sql) => /^\s*(?:select|with|update|insert)/i.test(sql) && !sql.includes('set_config'))).toHaveLength(2);
});

test('metrics are for operators and for the scrape token, which opens nothing else', async () => {
  const token = 'metrics-token-of-the-tests';
  const [scraped, operator, owner] = [
    await ask('/metrics', token),
    await ask('/metrics', tenant.tokens.operator),
    await ask('/metrics', tenant.tokens.owner),
  ];

  expect([scraped.statusCode, operator.statusCode, owner.statusCode]).toEqual([200, 200, 403]);
  expect(scraped.headers['content-type']).toBe('text/plain; version=0.0.4; charset=utf-8');
  expect((await ask('/metrics', `${token}x`)).statusCode).toBe(401);
  expect((await ask('/system/status', token)).statusCode).toBe(401);
});

test('metrics come as OpenMetrics to whoever prefers it', async () => {
  const headers = { ...bearer('metrics-token-of-the-tests'), accept: 'application/openmetrics-text;version=1.0.0;q=0.5,text/plain;q=0.4' };
  const scraped = await api.app.inject({ url: '/metrics', headers });

  expect(scraped.headers).toMatchObject({
    'content-type': 'application/openmetrics-text; version=1.0.0; charset=utf-8',
    'vary': expect.stringMatching(/\bAccept\b/),
  });
  expect(scraped.body.endsWith('# EOF\n')).toBe(true);
});

test('metrics measure operations by name and hold no id', async () => {
  await ask(`/agents/${tenant.workspaceId}`, tenant.tokens.viewer);
  const { body } = await ask('/metrics', tenant.tokens.operator);

  expect(body).toContain('http_request_duration_seconds_count{operation="getAgent",status="404"} 1');
  expect(body).toContain('rls_violations_total 0');
  expect(body).not.toMatch(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}/);
});

test('the state of the deployment is for operators, part by part', async () => {
  // A part that a busy machine answers too late is null and named among the problems.
  const asked: LightMyRequestResponse[] = [];
  await until(async () => {
    asked.unshift(await ask('/system/status', tenant.tokens.operator));
    return asked[0]?.json().problems.length === 0;
  });

  expect(asked[0]?.statusCode).toBe(200);
  expect(asked[0]?.json()).toMatchObject({
    draining: false,
    postgres: { version: expect.stringMatching(/^\d/), connections: expect.any(Number) },
    redis: { version: expect.stringMatching(/^\d/) },
    temporal: { latency_ms: expect.any(Number) },
    outbox: { due: 0, failing: 0 },
    runs: { queued: 0, running: 0 },
    last_backup: null,
  });
  expect((await ask('/system/status', tenant.tokens.owner)).statusCode).toBe(403);
  expect((await ask('/system/status', tenant.serviceKey.plaintext)).json().code).toBe('role_insufficient');
});

test('a request that is refused before its handler opens no transaction', async () => {
  statements.length = 0;
  await api.app.inject({
    method: 'POST',
    url: '/agents',
    headers: { ...bearer(tenant.tokens.member), 'content-type': 'application/json' },
    payload: '{"nonsense":true}',
  });

  expect(statements.filter((sql) => /^begin/i.test(sql))).toEqual([]);
});

test('documents and catalogues cost no query', async () => {
  statements.length = 0;
  for (const url of ['/openapi.json', '/redoc', '/llms.txt', '/error-codes', '/stream-protocol', '/deprecations', '/health/live'])
    await api.app.inject(url);

  // What requests before have used is written from time to time.
  expect(statements.filter((sql) => !sql.includes('set "last_used_at" = now()'))).toEqual([]);
});

test('an authenticated read costs at most three queries beyond its settings', async () => {
  const made = await api.app.inject({
    method: 'POST',
    url: '/agents',
    headers: bearer(tenant.tokens.member),
    payload: { slug: 'read', name: 'Read' },
  });
  for (const url of [made.headers['location'], '/agents', '/agents?offset=0', '/runs', '/tools', '/auth/me']) {
    statements.length = 0;
    await ask(String(url), tenant.tokens.viewer);

    const queries = statements.filter((sql) => !sql.includes('set_config') && !/^(?:begin|commit|rollback)/i.test(sql));
    expect([url, queries.length <= 3, queries.length]).toEqual([url, true, queries.length]);
  }
});
