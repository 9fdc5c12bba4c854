import { openSync } from 'node:fs';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';

const root = join(import.meta.dirname, '../..');
const logging = `
  const { pino } = await import('pino');
  const { logOutput } = await import('./ports/config/log-output.ts');
  const log = pino({}, logOutput());
  for (let line = 0; line < 100; line++) {
    log.info('a line');
    await new Promise((resolve) => setImmediate(resolve));
  }
  log.fatal('the last line');
  process.stderr.write('lives', () => process.exit(3));
`;

test('a log on a full disk ends no process, and keeps none from ending', () => {
  const args = ['--disable-warning=ExperimentalWarning', '--input-type=module', '--eval', logging];
  const full = openSync('/dev/full', 'w');

  const { stderr, status } = spawnSync(process.execPath, args, {
    stdio: ['ignore', full, 'pipe'],
    encoding: 'utf8',
    cwd: root,
    timeout: 120_000,
    killSignal: 'SIGKILL',
  });

  expect([stderr, status]).toEqual(['lives', 3]);
});
