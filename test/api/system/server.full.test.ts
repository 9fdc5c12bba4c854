import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import { connect } from 'node:net';
import { join } from 'node:path';
import { keyVariables } from '../../../db/key-ring.ts';
import { startStack, type Stack } from '../../support/stack.ts';
import { until } from '../../support/temporal.ts';

const root = join(import.meta.dirname, '../../..');
let stack: Stack;
beforeAll(async () => {
  stack = await startStack({ processes: ['api'], env: { DRAIN_SECONDS: '2' } });
});
afterAll(() => stack.stop());

const status = (path: string) =>
  fetch(stack.url() + path, { signal: AbortSignal.timeout(2_000) }).then(
    (reply) => reply.status,
    () => null,
  );

test('SIGTERM: readiness goes before the listener, open requests end, the process leaves within ten seconds', async () => {
  const { hostname, port } = new URL(stack.url());
  const open = connect(Number(port), hostname);
  const body = JSON.stringify({ slug: 'last', name: 'Last' });
  open.write(
    `POST /agents HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${stack.tenant.serviceKey.plaintext}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body.slice(0, 10)}`,
  );
  await until(async () => (await status('/health/ready')) === 200);

  const startedAt = Date.now();
  const ended = stack.kill('api', 'SIGTERM');
  await until(async () => (await status('/health/ready')) === 503);
  expect([await status('/health/live'), await status('/error-codes')]).toEqual([200, 200]);

  open.write(body.slice(10));
  let answer = '';
  for await (const part of open) answer += String(part);
  expect(answer).toMatch(/^HTTP\/1\.1 201 /);
  expect(answer).toMatch(/connection: close/i);
  expect(await ended).toBe(0);
  expect(Date.now() - startedAt).toBeLessThan(10_000);
});

test.each([
  ['api/server.ts', ['PORT', 'PUBLIC_URL', 'TRUSTED_PROXIES', 'RATE_LIMITS']],
  ['workers/runs.worker.ts', ['WORKER_HEALTH_PORT', 'PUBLIC_URL']],
])('a bad environment ends %s with one line that names every bad variable, no value', (entry, own) => {
  const {
    status: code,
    stdout,
    stderr,
  } = spawnSync(process.execPath, ['--disable-warning=ExperimentalWarning', join(root, entry)], {
    env: {
      PATH: process.env['PATH'],
      PORT: 'canary',
      WORKER_HEALTH_PORT: 'canary',
      DATABASE_APP_URL: 'mysql://canary',
      LOG_LEVEL: 'loud',
      EGRESS_ALLOW_HTTP: 'maybe',
      BILLING_CURRENCY: 'ABC',
      TRUSTED_PROXIES: '300.0.0.1',
      RATE_LIMITS: 'nonsense=1/1',
      SMTP_URL: 'http://canary',
      MAIL_LINK_URL: 'canary',
      LONGHAUL_KEKS: 'canary',
      LONGHAUL_MODEL_BASE_URL: 'canary',
    },
    encoding: 'utf8',
  });

  const shared = [
    'DATABASE_APP_URL',
    'DATABASE_SWEEPER_URL',
    'REDIS_URL',
    'TEMPORAL_ADDRESS',
    'STORAGE_DIR',
    'LOG_LEVEL',
    'EGRESS_ALLOW_HTTP',
    'BILLING_CURRENCY',
    'SMTP_URL',
    'MAIL_LINK_URL',
  ];
  const keys = Object.values(keyVariables);
  expect([code, stdout, stderr.trim().split('\n').length]).toEqual([1, '', 1]);
  for (const name of [...own, ...shared, ...keys, 'LONGHAUL_MODEL_BASE_URL']) expect(stderr).toContain(`${name}: `);
  expect(stderr).not.toContain('canary');
});

test('the document is printed without any service', () => {
  const { status: code, stdout } = spawnSync(
    process.execPath,
    ['--disable-warning=ExperimentalWarning', join(root, 'api/print-openapi.ts')],
    { env: { PATH: process.env['PATH'] }, encoding: 'utf8', maxBuffer: 50_000_000 },
  );

  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({ openapi: '3.1.0' });
});
