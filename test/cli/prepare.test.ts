import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';

const root = join(import.meta.dirname, '../..');
const lock = {
  packages: {
    '': {},
    'node_modules/a': { version: '1.0.0', integrity: 'x' },
    'node_modules/of-tests': { version: '1.0.0', integrity: 'z', dev: true },
    'node_modules/other-machine': { version: '1.0.0', optional: true },
  },
};

/** Stands for npm: notes its arguments and leaves what npm leaves. */
const npmSource = `
  const { appendFileSync, mkdirSync, readFileSync, writeFileSync } = require('node:fs');
  appendFileSync('calls.txt', process.argv.slice(2).join(' ') + '\\n');
  mkdirSync('node_modules/.bin', { recursive: true });
  const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8'));
  writeFileSync('node_modules/.package-lock.json', JSON.stringify({ packages: { 'node_modules/a': packages['node_modules/a'], 'node_modules/of-tests': packages['node_modules/of-tests'] } }));
`;

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'longhaul-prepare-'));
  mkdirSync(join(folder, 'cli'));
  cpSync(join(root, 'cli/prepare.mjs'), join(folder, 'cli/prepare.mjs'));
  writeFileSync(join(folder, 'npm-cli.cjs'), npmSource);
  writeLock(lock);
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

test('in a fresh clone the packages are installed once, without running their scripts', () => {
  const first = prepare();
  const second = prepare();

  expect(first).toMatchObject({
    status: 0,
    stdout: expect.stringContaining('Installing packages'),
  });
  expect(second).toMatchObject({ status: 0, stdout: '', stderr: '' });
  expect(calls()).toEqual(['ci --ignore-scripts --include=dev --include=optional --no-audit --no-fund --loglevel=error']);
});

test('packages that are no longer what the lock file says are installed again', () => {
  prepare();
  writeLock({
    packages: { ...lock.packages, 'node_modules/a': { version: '1.0.1', integrity: 'y' } },
  });

  prepare();

  expect(calls()).toHaveLength(2);
});

test('packages that someone else has installed are taken as they are', () => {
  mkdirSync(join(folder, 'node_modules'));
  const { '': _root, 'node_modules/other-machine': _other, ...packages } = lock.packages;
  writeFileSync(join(folder, 'node_modules/.package-lock.json'), JSON.stringify({ packages }));

  expect(prepare('--development')).toMatchObject({ status: 0, stdout: '', stderr: '' });
  expect(calls()).toEqual([]);
});

test('an install without development packages is left alone, but for what needs them', () => {
  mkdirSync(join(folder, 'node_modules'));
  writeFileSync(
    join(folder, 'node_modules/.package-lock.json'),
    JSON.stringify({ packages: { 'node_modules/a': lock.packages['node_modules/a'] } }),
  );

  expect([prepare(), prepare()]).toMatchObject([
    { status: 0, stdout: '' },
    { status: 0, stdout: '' },
  ]);
  expect(calls()).toEqual([]);
  expect(prepare('--development')).toMatchObject({ status: 0, stdout: expect.stringContaining('Installing packages') });
  expect(calls()).toHaveLength(1);
});

test('a failing npm ci is told with its output', () => {
  writeFileSync(join(folder, 'npm-cli.cjs'), 'console.error("no network"); process.exit(1);');

  expect(prepare()).toMatchObject({
    status: 1,
    stderr: expect.stringMatching(/npm ci failed:\n.*no network/),
  });
});

test('a packaged Node that does not run on this machine gives way to the one of the machine', () => {
  prepare();
  symlinkSync('/bin/false', join(folder, 'node_modules/.bin/node'));

  expect(prepare().status).toBe(0);
  expect(existsSync(join(folder, 'node_modules/.bin/node'))).toBe(false);
});

function prepare(...args: readonly string[]) {
  const env = { ...process.env, npm_execpath: join(folder, 'npm-cli.cjs') };
  return spawnSync(process.execPath, [join(folder, 'cli/prepare.mjs'), ...args], {
    cwd: folder,
    env,
    encoding: 'utf8',
  });
}

function calls(): string[] {
  const file = join(folder, 'calls.txt');
  return existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : [];
}

function writeLock(content: unknown): void {
  writeFileSync(join(folder, 'package-lock.json'), JSON.stringify(content));
}
