import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createLog } from '../../../api/parts.ts';
import { startApi, type TestApi } from '../../support/api.ts';
import { newProbeState, probeArea } from '../../support/probes.ts';
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
