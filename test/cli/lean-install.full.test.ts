import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { makeAgent } from '../support/scenario.ts';
import { startStack, type Stack } from '../support/stack.ts';

jest.setTimeout(600_000);

const root = join(import.meta.dirname, '../..');
/** Outside of this checkout, whose own packages would otherwise be found. */
const installation = mkdtempSync(join(tmpdir(), 'longhaul-lean-'));
const leftOut = ['node_modules', 'test', 'bench', 'docs', 'coverage', 'dist'];
let fullMb: number;
let started: Stack;

/** What an image holds: the sources that .dockerignore lets through, the packages without those of tests and checks, and only for this machine. */
beforeAll(async () => {
  const copied = readdirSync(root).filter((name) => !name.startsWith('.') && !leftOut.includes(name));
  for (const name of copied) cpSync(join(root, name), join(installation, name), { recursive: true });
  copyPackages();
  // What `npm ci --omit=dev` installs, from the packages that are here: no network and no cache is needed.
  run('npm', 'prune', '--omit=dev', '--ignore-scripts', '--offline', '--no-audit', '--no-fund');
  fullMb = sizeMb();
  run(process.execPath, 'cli/slim.mjs');
  run(process.execPath, 'cli/build-processes.ts');
  started = await startStack({ processes: ['api', 'worker-runs', 'worker-bulk'], installation });
});
afterAll(async () => {
  await started?.stop();
  rmSync(installation, { recursive: true, force: true });
});

test('API and both workers start without the packages of tests and checks, and serve a run', async () => {
  expect(existsSync(join(installation, 'node_modules/jest'))).toBe(false);
  const agent = await makeAgent(started, []);

  const { body: run } = await started.request('POST', '/runs', {
    body: { agent_id: agent.id, mode: 'wait', input: { text: 'What is this?' } },
  });

  expect(run).toMatchObject({ status: 'succeeded' });
});

test('`npx longhaul` takes the lean install as it is: nothing is fetched, nothing replaced', () => {
  const before = statSync(join(installation, 'node_modules')).ino;

  const said = run(process.execPath, 'cli/longhaul.mjs', '--help');

  expect(said).toContain('longhaul migrate');
  expect(said).not.toContain('Installing');
  expect(statSync(join(installation, 'node_modules')).ino).toBe(before);
  expect(existsSync(join(installation, 'node_modules/jest'))).toBe(false);
});

test('slim leaves the native module of this machine alone, and takes over 100 MB away', () => {
  const releases = readdirSync(join(installation, 'node_modules/@temporalio/core-bridge/releases'));

  expect(releases).toHaveLength(1);
  expect(fullMb - sizeMb()).toBeGreaterThan(100);
});

/** Hard links where the file system allows them: npm removes files and writes into one only, its list of what is installed. */
function copyPackages(): void {
  const [from, to] = [join(root, 'node_modules'), join(installation, 'node_modules')];
  try {
    execFileSync('cp', ['-al', from, to], { stdio: 'ignore' });
  } catch {
    rmSync(to, { recursive: true, force: true });
    execFileSync('cp', ['-a', from, to]);
  }
  rmSync(join(to, '.package-lock.json'), { force: true });
  cpSync(join(from, '.package-lock.json'), join(to, '.package-lock.json'));
}

/** Without NODE_ENV and npm's settings of this run, which would tell the second npm what to do. */
function run(file: string, ...args: readonly string[]): string {
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^npm_|^NODE_ENV$/i.test(name)));
  return execFileSync(file, args, { cwd: installation, env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] });
}

function sizeMb(): number {
  return Number(execFileSync('du', ['-sm', 'node_modules'], { cwd: installation, encoding: 'utf8' }).split('\t')[0]);
}
