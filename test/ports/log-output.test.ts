import { openSync } from 'node:fs';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';

const root = join(import.meta.dirname, '../..');

function logging(afterEachLine: string): string {
  return `
    const { pino } = await import('pino');
    const { logOutput } = await import('./ports/config/log-output.ts');
    const log = pino({}, logOutput());
    for (let line = 0; line < 100; line++) {
      log.info({ line }, 'a line');
      ${afterEachLine}
    }
    log.fatal('the last line');
    process.stderr.write('lives', () => process.exit(3));
  `;
}

function processLoggingTo(stdout: 'pipe' | number, afterEachLine: string): { stdout: string; stderr: string; status: number | null } {
  const args = ['--disable-warning=ExperimentalWarning', '--input-type=module', '--eval', logging(afterEachLine)];
  return spawnSync(process.execPath, args, {
    stdio: ['ignore', stdout, 'pipe'],
    encoding: 'utf8',
    cwd: root,
    timeout: 120_000,
    killSignal: 'SIGKILL',
  });
}

test.each([
  ['whose failures the process knows of', 'await new Promise((resolve) => setTimeout(resolve));'],
  ['whose first write is still under way', ''],
])('a log on a full disk, %s, ends no process, and keeps none from ending', (_title, afterEachLine) => {
  const { stderr, status } = processLoggingTo(openSync('/dev/full', 'w'), afterEachLine);

  expect([stderr, status]).toEqual(['lives', 3]);
});

test('a log holds every line, those just before the end of the process too', () => {
  const { stdout } = processLoggingTo('pipe', '');

  // The first ones are written by a thread of their own, so the last ones may overtake them.
  const lines = stdout.trim().split('\n');
  const numbers = lines.map((text) => (JSON.parse(text) as { line?: number }).line ?? 100);
  expect(numbers.toSorted((one, other) => one - other)).toEqual([...Array(101).keys()]);
});
