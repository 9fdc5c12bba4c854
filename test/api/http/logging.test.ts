import { once } from 'node:events';
import { connect } from 'node:net';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createLog } from '../../../api/dependencies.ts';
import { startApi, type TestApi } from '../../support/api.ts';
import { newProbeState, probeArea } from '../../support/probes.ts';
import { until } from '../../support/temporal.ts';
import { areas } from '../../../api/operations.ts';
import { bearer, makeTenant, testPassword, type TestTenant } from '../../support/tenant.ts';

const lines: string[] = [];
const log = createLog('trace', { write: (line) => void lines.push(line) });
let api: TestApi;
let tenant: TestTenant;
beforeAll(async () => {
  api = await startApi({ log, areas: [...areas, probeArea(newProbeState())] });
  tenant = await makeTenant(api.db, api.keys);
});
afterAll(() => api.close());

const entries = () => lines.map((line) => JSON.parse(line) as Record<string, unknown>);

test('a request leaves one line with operation, caller, status and correlation id', async () => {
  lines.length = 0;
  const reply = await api.app.inject({ url: '/version', headers: bearer(tenant.tokens.viewer) });

  expect(entries()).toEqual([
    expect.objectContaining({
      msg: 'request served',
      operation: 'getVersion',
      status: 200,
      correlation_id: reply.headers['x-correlation-id'],
      caller: `user:${tenant.users.viewer.id}`,
      organization_id: tenant.organizationId,
    }),
  ]);
});

/** Each kind of request, and what its line says of it. */
const kinds: readonly (readonly [string, () => Promise<unknown>, Record<string, unknown>])[] = [
  [
    'served',
    () => api.app.inject({ url: `/agents/${tenant.workspaceId}`, headers: bearer(tenant.tokens.viewer) }),
    { operation: 'getAgent', path: '/agents/{agent_id}', status: 404 },
  ],
  [
    'with a bad query',
    () => api.app.inject({ url: '/agents?canary=1', headers: bearer(tenant.tokens.viewer) }),
    { path: '/agents', status: 422 },
  ],
  ['without a credential', () => api.app.inject('/runs/canary/messages'), { path: '/runs/{run_id}/messages', status: 401 }],
  [
    'of an unknown path',
    () => api.app.inject('/invitations/canary-token/accept/more?token=canary'),
    { operation: null, path: null, status: 404 },
  ],
  [
    'with a wrong method',
    () => api.app.inject({ method: 'PUT', url: '/runs/canary' }),
    { path: '/runs/{run_id}', method: 'PUT', status: 405 },
  ],
  ['OPTIONS', () => api.app.inject({ method: 'OPTIONS', url: '/runs/canary' }), { path: '/runs/{run_id}', status: 204 }],
  ['with a bad escape', () => api.app.inject('/canary/%zz'), { operation: null, path: null, status: 400 }],
  [
    'with too long a parameter',
    () => api.app.inject(`/runs/${'canary'.repeat(300)}`),
    { operation: 'getRun', path: '/runs/{run_id}', status: 401 },
  ],
  ['for a socket that is refused', () => api.app.inject('/ws/runs/canary'), { operation: null, path: '/ws/runs/{run_id}', status: 404 }],
  ['that is no HTTP', () => raw('canary\r\n\r\n'), { operation: null, path: null, method: null, status: 400 }],
  ['without a Host', () => raw('GET /canary HTTP/1.1\r\n\r\n'), { operation: null, path: null, method: 'GET', status: 400 }],
  ['CONNECT', () => raw('CONNECT canary:443 HTTP/1.1\r\nHost: x\r\n\r\n'), { path: null, method: 'CONNECT', status: 400 }],
  [
    'with an expectation',
    () => raw('GET /runs/canary HTTP/1.1\r\nHost: x\r\nExpect: canary\r\nConnection: close\r\n\r\n'),
    { path: null, method: 'GET', status: 400 },
  ],
];

test.each(kinds)(
  'a request %s leaves one line with template, status and address, and nothing of its path',
  async (_kind, ask, expected) => {
    lines.length = 0;
    await ask();

    await until(() => lines.length > 0);
    const served = entries().filter(({ msg }) => msg === 'request served');
    expect(served).toEqual([
      expect.objectContaining({
        method: expect.anything(),
        address: '127.0.0.1',
        correlation_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
        duration_ms: expect.any(Number),
        ...expected,
      }),
    ]);
    expect(lines.join('')).not.toContain('canary');
  },
);

test('the address is that of the client behind a trusted proxy, and no word of anybody else', async () => {
  const headers = { 'x-forwarded-for': '198.51.100.7, 203.0.113.9' };
  const behind = await startApi({
    log,
    database: api.database,
    redisPrefix: api.redisPrefix,
    keys: api.keys,
    env: { TRUSTED_PROXIES: '127.0.0.1' },
  });
  lines.length = 0;

  await behind.app.inject({ url: '/nothing', headers });
  await behind.app.inject({ url: '/%zz', headers });
  await api.app.inject({ url: '/nothing', headers });

  await behind.close();
  expect(entries().flatMap(({ address = [] }) => address)).toEqual(['203.0.113.9', '203.0.113.9', '127.0.0.1']);
});

/** Sends bytes as they are; resolves when the server has closed. */
async function raw(bytes: string): Promise<void> {
  const socket = connect(Number(new URL(api.url).port), '127.0.0.1');
  socket.resume().end(bytes);
  await once(socket, 'close');
}

test('a refusal is no error, a bug is one with its stack, a retryable fault a warning', async () => {
  lines.length = 0;
  for (const url of ['/nothing', '/probes/crash', '/probes/failures/upstream_failed']) await api.app.inject(url);
  const levels = entries()
    .filter((entry) => entry['msg'] !== 'request served')
    .map((entry) => [entry['level'], entry['code']]);

  expect(levels).toEqual([
    [50, 'internal_error'],
    [40, 'upstream_failed'],
  ]);
  expect(lines.join('')).toContain('vault');
});

test('no credential and no password reaches the log, whatever happens', async () => {
  lines.length = 0;
  await api.app.inject({ method: 'POST', url: '/auth/login', payload: { email: tenant.users.member.email, password: testPassword } });
  await api.app.inject({ method: 'POST', url: '/auth/login', payload: { email: tenant.users.member.email, password: 'canary-password' } });
  await api.app.inject({
    method: 'POST',
    url: '/probes',
    headers: bearer(tenant.tokens.member),
    payload: { name: 'canary-body'.repeat(10) },
  });
  await api.app.inject({ url: '/agents', headers: { 'x-api-key': tenant.serviceKey.plaintext } });
  await api.app.inject({ url: '/probes/crash', headers: bearer('canary-token') });

  const text = lines.join('');
  expect(entries().length).toBeGreaterThanOrEqual(5);
  for (const secret of [testPassword, 'canary', tenant.serviceKey.plaintext, tenant.tokens.member]) expect(text).not.toContain(secret);
});

test('an object that is logged whole has its secrets blotted out', () => {
  lines.length = 0;
  log.info(
    { password: 'canary', request: { headers: { 'authorization': 'canary', 'x-api-key': 'canary' }, body: { refresh_token: 'canary' } } },
    'careless',
  );

  expect(lines.join('')).not.toContain('canary');
  expect(entries()).toHaveLength(1);
});
