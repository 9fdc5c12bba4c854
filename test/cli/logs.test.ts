import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { maxLogBytes } from '../../cli/services/log-file.ts';
import { until } from '../support/temporal.ts';

const root = join(import.meta.dirname, '../..');
const flag = '--disable-warning=ExperimentalWarning';

/** Writes so many numbered lines as fast as it can, some others on the other output between them; says its last words after SIGTERM. */
const childSource = `
  const lines = Number(process.argv[2]);
  for (let n = 1; n <= lines; n += 1) {
    process.stdout.write(n + ' ' + 'x'.repeat(100 + n % 50) + '\\n');
    if (n % 10 === 0) process.stderr.write('error ' + 'y'.repeat(n % 1000) + '\\n');
  }
  process.stdout.write('all written by ' + process.pid + '\\n');
  process.on('SIGTERM', () => setTimeout(() => process.stdout.write('last words\\n', () => process.exit()), 500));
  setInterval(() => {}, 1000);
`;

/** Keeps \`writer\` alive as a deployment keeps its processes. */
const supervisorSource = `
  import { superviseProcesses } from '${root}/cli/processes.ts';
  import { startServices } from '${root}/cli/services/index.ts';
  const [, , folder, lines] = process.argv;
  const none = { DATABASE_URL: 'postgres://none.example/none', REDIS_URL: 'redis://none.example', TEMPORAL_ADDRESS: 'none.example:7233' };
  const services = await startServices({ stateDir: folder + '/state', env: { ...process.env, ...none }, log: console.log });
  const writer = { name: 'writer', entry: folder + '/child.mjs', args: [lines], cwd: folder, env: {}, graceMs: 5000 };
  await (await superviseProcesses({ services, processes: [writer], log: console.log })).stopped;
`;

/** Starts one child that is told when its launcher dies, as a service is. */
const launcherSource = `
  import { startChild } from '${root}/cli/services/child.ts';
  const [, , folder, lines] = process.argv;
  await startChild({ name: 'writer', file: process.execPath, args: [folder + '/child.mjs', lines], env: {}, cwd: folder,
    logFile: folder + '/state/logs/writer.log', deathSignal: 'SIGTERM' });
  setInterval(() => {}, 1000);
`;

let folder: string;
let launcher: ChildProcess;
let output: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'longhaul-logging-'));
  for (const name of ['state', 'tmp']) mkdirSync(join(folder, name));
  writeFileSync(join(folder, 'child.mjs'), childSource);
  writeFileSync(join(folder, 'supervisor.ts'), supervisorSource);
  writeFileSync(join(folder, 'launcher.ts'), launcherSource);
});

afterEach(async () => {
  if (launcher.exitCode === null && launcher.signalCode === null) {
    launcher.kill('SIGKILL');
    await once(launcher, 'exit');
  }
  await until(hasNoLogWriter);
  rmSync(folder, { recursive: true, force: true });
});

function launch(file: string, lines: number): void {
  output = '';
  const env = { ...process.env, TMPDIR: join(folder, 'tmp') };
  launcher = spawn(process.execPath, [flag, join(folder, file), folder, String(lines)], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  launcher.stdout?.on('data', (chunk: Buffer) => (output += chunk.toString()));
}

const logFile = () => join(folder, 'state/logs/writer.log');
const textOf = (path: string) => (existsSync(path) ? readFileSync(path, 'utf8') : '');
const sizeOf = (path: string) => statSync(path, { throwIfNoEntry: false })?.size ?? 0;
/** It removes its folder when it ends. */
const hasNoLogWriter = () => readdirSync(join(folder, 'tmp')).length === 0;

function logWriterPid(): number {
  const mine = readdirSync('/proc').find((pid) => /^\d+$/.test(pid) && textOf(`/proc/${pid}/cmdline`).includes(join(folder, 'tmp')));
  return Number(mine);
}

test('a process that writes sixty megabytes leaves the newest twenty at most, whole lines in their order, and never more', async () => {
  const lines = 450_000;
  launch('supervisor.ts', lines);
  const seen: number[] = [];

  await until(() => {
    seen.push(sizeOf(logFile()), sizeOf(`${logFile()}.1`));
    return textOf(logFile()).slice(-100).includes('all written');
  }, 100_000);

  expect(Math.max(...seen)).toBeLessThanOrEqual(maxLogBytes);
  expect(readdirSync(join(folder, 'state/logs')).toSorted()).toEqual(['writer.log', 'writer.log.1']);
  const all = `${textOf(`${logFile()}.1`)}${textOf(logFile())}`.trimEnd().split('\n');
  const kept = all.filter((line) => /^\d/.test(line));
  expect(kept.length).toBeGreaterThan(maxLogBytes / 200);
  expect(all.filter((line) => !/^(?:\d+ x+|error y*|all written by \d+)$/.test(line))).toEqual([]);
  // Whole, none missing, and the last one is the newest.
  const first = lines - kept.length + 1;
  expect(kept.findIndex((line, index) => line !== `${first + index} ${'x'.repeat(100 + ((first + index) % 50))}`)).toBe(-1);
  launcher.kill('SIGTERM');
  await once(launcher, 'exit');
  expect(textOf(logFile()).endsWith('last words\n')).toBe(true);
}, 150_000);

test('whose launcher is killed can log as long as it lives', async () => {
  launch('launcher.ts', 10);
  await until(() => textOf(logFile()).includes('all written'));

  launcher.kill('SIGKILL');

  await until(() => textOf(logFile()).endsWith('last words\n'));
  await until(hasNoLogWriter);
});

test('when the writer of the logs is killed, processes are started again and are heard again', async () => {
  launch('supervisor.ts', 10);
  await until(() => textOf(logFile()).includes('all written'));
  const before = textOf(logFile()).match(/all written by \d+/g) ?? [];

  process.kill(logWriterPid(), 'SIGKILL');

  await until(() => output.includes('writer runs again'));
  await until(() => (textOf(logFile()).match(/all written by \d+/g) ?? []).length > before.length);
  // The killed one could not remove its folder.
  const [left = '', ...more] = readdirSync(join(folder, 'tmp')).toSorted(
    (a, b) => statSync(join(folder, 'tmp', a)).ctimeMs - statSync(join(folder, 'tmp', b)).ctimeMs,
  );
  expect(more).toHaveLength(1);
  rmSync(join(folder, 'tmp', left), { recursive: true });
});

test('signals that are meant for all end no writer before those who write', async () => {
  launch('supervisor.ts', 10);
  await until(() => textOf(logFile()).includes('all written'));

  for (const signal of ['SIGHUP', 'SIGINT', 'SIGTERM'] as const) process.kill(logWriterPid(), signal);
  launcher.kill('SIGTERM');
  await once(launcher, 'exit');

  expect(output).not.toContain('writes the logs ended');
  expect(textOf(logFile()).endsWith('last words\n')).toBe(true);
});
