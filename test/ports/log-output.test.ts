import { openSync } from 'node:fs';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';

const module = join(import.meta.dirname, '../../ports/log-output.ts');
const logging = `
  const { pino } = await import('pino');
  const { logOutput } = await import(${JSON.stringify(module)});
  const log = pino({}, logOutput());
  for (let line = 0; line < 100; line++) {
    log.info('a line');
    await new Promise((resolve) => setImmediate(resolve));
  }
  process.stderr.write('lives', () => process.kill(process.pid, 'SIGKILL'));
`;

test('a log on a full disk ends no process', () => {
  const stdio = ['ignore', openSync('/dev/full', 'w'), 'pipe'] as const;
  const args = ['--disable-warning=ExperimentalWarning', '--input-type=module', '--eval', logging];

  const { stderr } = spawnSync(process.execPath, args, { stdio: [...stdio], encoding: 'utf8', cwd: join(import.meta.dirname, '../..') });

  expect(stderr).toBe('lives');
});
