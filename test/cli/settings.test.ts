import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import { expect, test } from '@jest/globals';
import { environmentLines } from '../../cli/deployment.ts';
import { checkReachable } from '../../cli/check-services.ts';
import { checkSettings } from '../../cli/settings.ts';
import { SetupError } from '../../cli/setup-error.ts';

test('longhaul env gives the deployment’s variables as Node reads them from a file, without those of the machine', () => {
  const folder = mkdtempSync(join(tmpdir(), 'longhaul-env-'));
  const variables = { DATABASE_APP_URL: 'postgres://a:b@c/d', MAIL_FROM: 'Longhaul <longhaul@localhost>', LONGHAUL_KEKS: 'k2:b_-,k1:a' };
  writeFileSync(join(folder, 'deployment.json'), JSON.stringify({ ...variables, PATH: '/bin', HOME: '/root' }));

  expect(parseEnv(environmentLines(folder).join('\n'))).toEqual(variables);
  expect(() => environmentLines(join(folder, 'nowhere'))).toThrow(SetupError);
  rmSync(folder, { recursive: true });
});

test('every setting that can not be used is named before anything starts', () => {
  const bad = {
    DATABASE_URL: 'garbage',
    REDIS_URL: 'http://canary',
    PORT: 'canary',
    LOG_LEVEL: 'loud',
    BILLING_CURRENCY: 'ABC',
    LONGHAUL_KEKS: '',
    LONGHAUL_MODEL_BASE_URL: 'canary',
    LONGHAUL_MODEL: 'm',
  };

  const refusal = refusalOf(() => checkSettings(bad));

  expect(refusal).toBeInstanceOf(SetupError);
  for (const name of Object.keys(bad)) if (name !== 'LONGHAUL_MODEL') expect(refusal.message).toContain(`  ${name}: `);
  expect(refusal.message).not.toMatch(/canary|garbage/);
});

test('nothing has to be set', () => {
  checkSettings({ PATH: '/bin', REDIS_URL: '', DATABASE_URL: 'postgres:///longhaul?host=/run/postgresql' });
});

test('a service that does not answer where its variable says is named with the reason, the others are not', async () => {
  const silent = createServer((socket) => socket.unref()).listen(0, '127.0.0.1');
  await new Promise((resolve) => silent.once('listening', resolve));
  const { port } = silent.address() as { port: number };
  const env = {
    DATABASE_URL: 'postgres://u:canary@127.0.0.1:1/x',
    REDIS_URL: process.env['REDIS_URL'],
    TEMPORAL_ADDRESS: `127.0.0.1:${port}`,
  };

  const refusal: unknown = await checkReachable(env, Object.keys(env)).catch((error: unknown) => error);

  silent.close();
  expect(refusal).toBeInstanceOf(SetupError);
  expect(String(refusal)).toMatch(/PostgreSQL .*DATABASE_URL.*ECONNREFUSED.*\nTemporal .*TEMPORAL_ADDRESS/);
  expect(String(refusal)).not.toMatch(/canary|REDIS_URL/);
});

function refusalOf(work: () => void): Error {
  try {
    work();
  } catch (error) {
    if (error instanceof Error) return error;
  }
  throw new Error('nothing was refused');
}
