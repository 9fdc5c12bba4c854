import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { randomKeyRing } from '../../db/key-ring.ts';
import { testDatabase, type TestDatabase } from '../support/database.ts';
import { longhaul } from './command.ts';

const keys = randomKeyRing();
const folder = mkdtempSync(join(tmpdir(), 'longhaul-own-'));
let database: TestDatabase;
/** Listens where the deployment's API would. */
let api: Server;

beforeAll(async () => {
  database = await testDatabase();
  api = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => api.once('listening', resolve));
});
afterAll(async () => {
  api.close();
  rmSync(folder, { recursive: true });
  await database.drop();
});

const own = () => ({
  // Nothing is installed for it.
  EMBEDDING_MODEL: 'hash-v1',
  REDIS_URL: process.env['REDIS_URL'] ?? '',
  TEMPORAL_ADDRESS: process.env['TEMPORAL_ADDRESS'] ?? '',
  PUBLIC_URL: 'http://127.0.0.1:3000',
});
const stateDir = (name: string) => join(folder, name);
const variablesOf = (name: string): unknown => JSON.parse(readFileSync(join(stateDir(name), 'deployment.json'), 'utf8'));

test('migrate takes the environment that `longhaul env` prints, which has no DATABASE_URL, and starts no service', async () => {
  const env = { ...own(), DATABASE_OWNER_URL: database.ownerUrl, LONGHAUL_STATE_DIR: stateDir('printed') };

  const { code, output } = await longhaul(['migrate'], { database, keys, env });

  expect([code, output]).toEqual([0, 'No migrations are pending.\n']);
  expect(variablesOf('printed')).toMatchObject({ DATABASE_OWNER_URL: database.ownerUrl, DATABASE_APP_URL: database.appUrl });
  expect(existsSync(join(stateDir('printed'), 'postgres'))).toBe(false);
});

test('migrate runs beside the API of the release before, on the port that is set', async () => {
  const { port } = api.address() as { port: number };
  const env = { ...own(), PORT: String(port), DATABASE_OWNER_URL: database.ownerUrl, LONGHAUL_STATE_DIR: stateDir('beside') };

  const { code, output } = await longhaul(['migrate'], { database, keys, env });

  expect([code, output]).toEqual([0, 'No migrations are pending.\n']);
  expect(variablesOf('beside')).toMatchObject({ PORT: String(port) });
});

test('a shell that lacks the variables of the own services is told so: the deployment keeps its database', async () => {
  mkdirSync(stateDir('forgotten'));
  const saved = { DATABASE_APP_URL: 'postgres://app:x@db.example/longhaul' };
  writeFileSync(join(stateDir('forgotten'), 'deployment.json'), JSON.stringify(saved));
  const env = { REDIS_URL: own().REDIS_URL, LONGHAUL_STATE_DIR: stateDir('forgotten') };

  const { code, output } = await longhaul(['migrate'], { database, keys, env });

  expect(code).toBe(1);
  expect(output).toMatch(
    /^The deployment of .*forgotten uses its own services\. Set DATABASE_URL, TEMPORAL_ADDRESS to the values with which it was created/,
  );
  expect(variablesOf('forgotten')).toEqual(saved);
});

test('demo names the address at which no API answers', async () => {
  mkdirSync(stateDir('stopped'));
  const access = {
    base_url: 'http://127.0.0.1:1',
    email: 'a@b.example',
    password: 'p',
    operator_email: 'o@b.example',
    operator_password: 'p',
    service_key: 'lh_sk_x',
    organization_id: 'o',
    workspace_id: 'w',
    agent_id: 'a',
  };
  writeFileSync(join(stateDir('stopped'), 'access.json'), JSON.stringify(access));

  const { code, output } = await longhaul(['demo'], { database, keys, env: { LONGHAUL_STATE_DIR: stateDir('stopped') } });

  expect(code).toBe(1);
  expect(output).toContain('No API answers at http://127.0.0.1:1. Start the processes first.');
  expect(output).not.toContain('    at ');
});
