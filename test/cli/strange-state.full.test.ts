import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import pg from 'pg';
import { startServices, type Services } from '../../cli/services/index.ts';
import { readStateFile } from '../../cli/state.ts';
import { withAdmin } from '../support/template.ts';
import { runInPlace, runLonghaul } from './command.ts';

const root = join(import.meta.dirname, '../..');
const folder = mkdtempSync(join(tmpdir(), 'longhaul-strange-'));
let services: Services;
let database: Record<string, string>;

beforeAll(async () => {
  services = await startServices({
    stateDir: join(folder, 'services'),
    wheelsDir: join(root, '.longhaul/wheels'),
    env: { ...process.env, DATABASE_URL: '', REDIS_URL: '', TEMPORAL_ADDRESS: '' },
    log: () => undefined,
    isEphemeral: true,
  });
  database = { DATABASE_URL: services.databaseUrl, REDIS_URL: services.redisUrl, TEMPORAL_ADDRESS: services.temporalAddress };
});
afterAll(async () => {
  await services?.stop();
  rmSync(folder, { recursive: true, force: true });
});

test('two commands of one state folder at once: the second waits, and both end with the same secrets', async () => {
  const both = await Promise.all([longhaulProcess(['migrate'], 'own'), longhaulProcess(['bootstrap'], 'own')]);

  expect(both.map(({ code, output }) => (code === 0 ? code : output))).toEqual([0, 0]);
  expect(await works('own')).toEqual({ roles: true });
});

test('migrate says what it did, and that there was nothing to do', async () => {
  const { databaseUrl } = services;
  const name = new URL(databaseUrl);
  name.pathname = '/another';
  await withAdmin(databaseUrl, (admin) => admin.query('create database another'));

  const first = await longhaul(['migrate'], 'own', { DATABASE_URL: name.href });
  const second = await longhaul(['migrate'], 'own');

  expect(first.output).toMatch(/^Migrations applied: 0001-spine, .*\.$/);
  expect(second.output).toBe('No migrations are pending.');
});

test.each(['migrate', 'bootstrap', 'up'])(
  '%s with another state folder is refused with what to bring, and locks nobody out',
  async (command) => {
    const { code, output } = await longhaulProcess([command], 'other');

    expect(code).toBe(1);
    expect(output).toMatch(
      /has longhaul_owner, longhaul_app, longhaul_sweeper already, with passwords other than[^]*LONGHAUL_STATE_DIR[^]*--reset-roles/,
    );
    expect(output).not.toMatch(/\n\s+at /);
    expect(await works('own')).toEqual({ roles: true });
  },
);

test('roles alone are not enough: keys that open nothing are refused as well, and access is not made anew unasked', async () => {
  const own = variablesOf('own');
  await plantDataKey();
  const urls = Object.fromEntries(
    ['DATABASE_OWNER_URL', 'DATABASE_APP_URL', 'DATABASE_SWEEPER_URL'].map((name) => [name, own[name] ?? '']),
  );

  const withoutKeys = await longhaul(['bootstrap'], 'third', urls);
  const withKeys = await longhaul(['bootstrap'], 'third', { ...urls, ...keysOf(own) });
  const asked = await longhaul(['bootstrap', '--reset-access'], 'third', { ...urls, ...keysOf(own) });
  const again = await longhaul(['bootstrap'], 'third', { ...urls, ...keysOf(own) });

  expect(withoutKeys).toMatchObject({ code: 1, output: expect.stringMatching(/k1 of LONGHAUL_KEKS is not the one.*LONGHAUL_STATE_DIR/) });
  expect(withKeys).toMatchObject({ code: 1, output: expect.stringMatching(/already has the user \S+,.*--reset-access/) });
  expect(asked).toMatchObject({ code: 0, output: expect.stringContaining('New secrets for owner, operator and key') });
  expect(again).toEqual({ code: 0, output: 'Everything already exists.' });
  expect(await works('own')).toEqual({ roles: true });
});

test('--reset-roles with keys that open nothing is refused before any password changes', async () => {
  const { code, output } = await longhaul(['migrate', '--reset-roles'], 'other');

  expect({ code, output }).toMatchObject({ code: 1, output: expect.stringMatching(/k1 of LONGHAUL_KEKS is not the one/) });
  expect(await works('own')).toEqual({ roles: true });
});

test('--reset-roles gives the roles the passwords of this folder', async () => {
  const own = variablesOf('own');
  const { code } = await longhaul(['migrate', '--reset-roles'], 'other', keysOf(own));

  expect(code).toBe(0);
  expect(await works('other')).toEqual({ roles: true });
  expect(await works('own')).toEqual({ roles: false });
});

type Ran = (
  args: readonly string[],
  state: string,
  env?: Readonly<Record<string, string>>,
) => Promise<{ code: number | null; output: string }>;

/** Runs a command in this process. */
const longhaul: Ran = async (args, state, env = {}) => trimmed(await runInPlace(args, environmentOf(state, env)));

const longhaulProcess: Ran = async (args, state, env = {}) => trimmed(await runLonghaul(args, environmentOf(state, env)));

function environmentOf(state: string, env: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return { PATH: process.env['PATH'] ?? '', HOME: folder, ...database, LONGHAUL_STATE_DIR: join(folder, state), ...env };
}

function trimmed({ code, output }: Awaited<ReturnType<Ran>>): Awaited<ReturnType<Ran>> {
  return { code, output: output.trim() };
}

function variablesOf(state: string): Record<string, string> {
  return readStateFile(join(folder, state), 'deployment.json') as Record<string, string>; // written by the command under test
}

function keysOf(variables: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(variables).filter(([name]) => name.startsWith('LONGHAUL_') && name !== 'LONGHAUL_STATE_DIR'));
}

/** Whether the roles' passwords of a folder are the database's. */
async function works(state: string): Promise<{ roles: boolean }> {
  const urls = ['DATABASE_OWNER_URL', 'DATABASE_APP_URL', 'DATABASE_SWEEPER_URL'].map((name) => variablesOf(state)[name] ?? '');
  const opened = await Promise.all(
    urls.map(async (url) => {
      const client = new pg.Client({ connectionString: url });
      return client.connect().then(
        () => client.end().then(() => true),
        () => false,
      );
    }),
  );
  return { roles: opened.every(Boolean) };
}

/** The first signing key of a deployment is sealed under the platform's data key, as its API does at its first start. */
async function plantDataKey(): Promise<void> {
  const { code, output } = await longhaul(['keys', 'rotate', '--signing'], 'own');
  if (code !== 0) throw new Error(output);
}
