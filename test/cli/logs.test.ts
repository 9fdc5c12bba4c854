import { spawn, type ChildProcess } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { keepLogsBounded, maxLogBytes, openLog } from '../../cli/services/log-file.ts';
import { until } from '../support/temporal.ts';

let folder: string;
let logFile: string;
let writer: ChildProcess | null;

/** Appends numbered lines in bursts, as a busy process does, and says when it is through. */
const writing = (bursts: number) => `
  const { setTimeout: delay } = await import('node:timers/promises');
  let n = 0;
  for (let burst = 0; burst < ${bursts}; burst++) {
    for (let line = 0; line < 10_000; line++) process.stdout.write(\`\${++n} \${'x'.repeat(90)}\\n\`);
    await delay(200);
  }
  process.stdout.write('all written\\n');
  setInterval(() => {}, 1_000);
`;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'longhaul-logs-'));
  logFile = join(folder, 'writer.log');
  writer = null;
});
afterEach(async () => {
  const ended = writer === null ? null : new Promise((resolve) => writer?.once('exit', resolve));
  writer?.kill('SIGKILL');
  await ended;
  rmSync(folder, { recursive: true, force: true });
});

function write(bursts: number): void {
  writer = spawn(process.execPath, ['--input-type=module', '--eval', writing(bursts)], { stdio: ['ignore', openLog(logFile), 'inherit'] });
}

const textOf = (path: string) => readFileSync(path, 'utf8');

test('a process that writes forty megabytes leaves the newest twenty at most, in whole lines and in their order', async () => {
  const stop = keepLogsBounded(folder);
  write(40);

  await until(() => textOf(logFile).endsWith('all written\n'));
  await until(() => statSync(logFile).size <= maxLogBytes);
  stop();

  expect(statSync(`${logFile}.1`).size).toBeLessThanOrEqual(maxLogBytes);
  const lines = `${textOf(`${logFile}.1`)}${textOf(logFile)}`.trimEnd().split('\n');
  const numbers = lines.slice(0, -1).map((line) => (/^\d+ x{90}$/.test(line) ? Number.parseInt(line) : Number.NaN));
  expect(numbers.filter(Number.isNaN)).toEqual([]);
  expect(numbers).toEqual(numbers.toSorted((a, b) => a - b));
  expect(numbers.at(-1)).toBe(400_000);
  expect(numbers.length).toBeGreaterThan(maxLogBytes / 200);
});

test('a file that outgrew its limit with nobody looking is cut at the next start', () => {
  const line = `${'y'.repeat(99)}\n`;
  writeFileSync(logFile, `${line.repeat(250_000)}last\n`);

  openLog(logFile);

  expect(statSync(logFile).size).toBe(0);
  expect(statSync(`${logFile}.1`).size).toBeLessThanOrEqual(maxLogBytes);
  expect(textOf(`${logFile}.1`).startsWith(line)).toBe(true);
  expect(textOf(`${logFile}.1`).endsWith(`${line}last\n`)).toBe(true);
});
