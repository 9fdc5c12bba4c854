import { execFileSync } from 'node:child_process';
import { test } from '@jest/globals';
test('record', () => {
  execFileSync(process.execPath, ['test/replay/record-others.ts', 'backfill-schedule'], {
    stdio: 'inherit',
    env: process.env,
    timeout: 120_000,
  });
});
