import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeEach, expect, test } from '@jest/globals';
import { identityOf } from '../../cli/services/child.ts';
import { isWholeMatrix } from '../chaos/whole.ts';
import { until } from '../support/temporal.ts';

const root = join(import.meta.dirname, '../..');
const env = { ...process.env, DATABASE_URL: '', REDIS_URL: '', TEMPORAL_ADDRESS: '' };

/** Says in `order.txt` when it begins and ends; drains for `--drain` ms; `--crash` ends at once. */
const childSource = `
  import { appendFileSync } from 'node:fs';
  const [, , name, order, drain] = process.argv;
  const say = (what) => appendFileSync(order, name + ' ' + what + '\\n');
  say('up');
  console.log('hello from ' + name);
  if (drain === 'crash') process.exit(3);
  process.on('SIGTERM', () => setTimeout(() => { say('down'); process.exit(0); }, Number(drain)));
  setInterval(() => {}, 1000);
`;

const launcherSource = `
  import { superviseProcesses } from '${root}/cli/processes.ts';
  import { startServices } from '${root}/cli/services/index.ts';
  const folder = process.argv[2];
  const log = (line) => console.log(line);
  const services = await startServices({ stateDir: folder + '/state', wheelsDir: '${root}/.longhaul/wheels', env: process.env, log, isEphemeral: true });
  const spec = (name, drain, more) => ({ name, entry: folder + '/child.mjs', cwd: folder, args: [name, folder + '/order.txt', drain], env: { PATH: process.env.PATH }, graceMs: 5000, ...more });
  const processes = process.argv.slice(3).map((text) => spec(...text.split('='), { stopsFirst: text.startsWith('api') }));
  try {
    const supervisor = await superviseProcesses({ services, processes, log });
    console.log('all up');
    await supervisor.stopped;
    console.log('all down');
  } catch (error) {
    console.log('failed: ' + error.message);
  }
`;

const folders: string[] = [];
let folder: string;
let launcher: ChildProcess;
let exited: Promise<unknown>;
let output: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'longhaul-processes-'));
  folders.push(folder);
  mkdirSync(join(folder, 'state'));
  writeFileSync(join(folder, 'child.mjs'), childSource);
  writeFileSync(join(folder, 'launcher.ts'), launcherSource);
});

afterEach(async () => {
  launcher.kill('SIGKILL');
  await exited;
});

afterAll(() => {
  for (const used of folders) rmSync(used, { recursive: true, force: true });
});

test('whatever is killed with -9, service or process, is back under its name', async () => {
  await launch(env, ['api=0', 'worker-runs=0', 'worker-bulk=0']);
  const names = ['api', 'postgres', 'redis', 'temporal', 'worker-bulk', 'worker-runs'];
  const before = processes();
  expect(Object.keys(before).toSorted()).toEqual(names);

  for (const name of names) process.kill(before[name] ?? 0, 'SIGKILL');

  await until(() => names.every((name) => processes()[name] === undefined || processes()[name] !== before[name]));
  await until(() => Object.keys(processes()).length === names.length && names.every((name) => output.includes(`${name} is running again`)));
  expect(names.filter((name) => processes()[name] === before[name])).toEqual([]);
});

test('SIGTERM stops what lets work in, then the workers, then the services, and leaves nothing', async () => {
  await launch(env, ['worker-runs=300', 'api=300']);
  const started = Object.values(processes());

  launcher.kill('SIGTERM');
  await exited;

  expect(orderLines().slice(-2)).toEqual(['api down', 'worker-runs down']);
  expect(output).toContain('all down');
  expect(started.map((pid) => identityOf(pid)).filter((identity) => identity !== null)).toEqual([]);
  expect(processes()).toEqual({});
});

test('a second press of Ctrl-C, more than two seconds after the first, does not wait for a process that does not end', async () => {
  await launch(withoutServices(), ['worker-runs=60000']);

  launcher.kill('SIGINT');
  await until(() => output.includes('Stopping'));
  launcher.kill('SIGTERM');
  await sleep(2_100);
  expect(launcher.exitCode).toBeNull();
  launcher.kill('SIGINT');
  await exited;

  expect(output).toContain('SIGINT again: killing');
  expect(output).not.toContain('restarting it');
  expect(launcher.exitCode).toBe(130);
  expect(orderLines()).toEqual(['worker-runs up']);
  expect(processes()).toEqual({});
});

/** As a terminal and npm do it: the press reaches the whole group, and npm hands it on a second time. */
const presses: readonly (readonly [string, readonly string[], () => void])[] = [
  [
    'in a terminal',
    ['python3', '-c', 'import os,pty,sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))', 'npm', 'start'],
    () => launcher.stdin?.write('\x03'),
  ],
  ['as a signal to the process group', ['npm', 'start'], () => process.kill(-(launcher.pid ?? 0), 'SIGINT')],
];

const rounds = isWholeMatrix ? 10 : 1;

test.each(presses)('one Ctrl-C %s: PostgreSQL has always shut down by itself', async (_how, command, press) => {
  const script = `exec '${process.execPath}' --disable-warning=ExperimentalWarning launcher.ts . api=50`;
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ type: 'module', scripts: { start: script } }));
  const onlyPostgres = { ...withoutServices(), DATABASE_URL: '' };

  for (let round = 1; round <= rounds; round += 1) {
    await run(command, onlyPostgres, { cwd: folder, detached: true });
    press();
    await exited;
    expect(output).toContain('all down');
    expect(output).not.toMatch(/killing|restarting it/);
    expect(processes()).toEqual({});
  }

  const log = readFileSync(join(folder, 'state/logs/postgres.log'), 'utf8');
  expect(log.match(/database system is shut down/g)).toHaveLength(rounds);
  expect(log).not.toContain('was interrupted');
});

test('a process that can not start ends the start with the end of its log, and stops the others', async () => {
  await launch(withoutServices(), ['worker-runs=0', 'api=crash'], 'failed:');
  await exited;

  expect(output).toMatch(/failed: api ended \(exit 3\)[^]*hello from api/);
  expect(processes()).toEqual({});
});

test('processes of a killed launcher die with it', async () => {
  await launch(withoutServices(), ['worker-runs=60000']);
  const { 'worker-runs': pid = 0 } = processes();
  expect(identityOf(pid)).not.toBeNull();

  launcher.kill('SIGKILL');

  await until(() => identityOf(pid) === null, 2000);
});

async function launch(launcherEnv: NodeJS.ProcessEnv, specs: readonly string[], expected = 'all up'): Promise<void> {
  await run([process.execPath, join(folder, 'launcher.ts'), folder, ...specs], launcherEnv, { expected });
}

async function run(
  [file = '', ...args]: readonly string[],
  launcherEnv: NodeJS.ProcessEnv,
  { expected = 'all up', ...options }: { readonly expected?: string; readonly cwd?: string; readonly detached?: boolean },
): Promise<void> {
  output = '';
  launcher = spawn(file, args, { ...options, env: launcherEnv, stdio: ['pipe', 'pipe', 'inherit'] });
  exited = once(launcher, 'exit');
  launcher.stdout?.on('data', (chunk: Buffer) => (output += chunk.toString()));
  await until(() => output.includes(expected));
}

function withoutServices(): NodeJS.ProcessEnv {
  return {
    ...env,
    DATABASE_URL: 'postgres://none.example/none',
    REDIS_URL: 'redis://none.example',
    TEMPORAL_ADDRESS: 'none.example:7233',
  };
}

function processes(): Record<string, number> {
  const list = JSON.parse(readFileSync(join(folder, 'state/processes.json'), 'utf8')) as {
    name: string;
    pid: number;
  }[]; // as the design says
  return Object.fromEntries(list.map(({ name, pid }) => [name, pid]));
}

function orderLines(): string[] {
  const file = join(folder, 'order.txt');
  return existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : [];
}
