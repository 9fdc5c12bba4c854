import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from '@jest/globals';

test('a worker whose namespace is gone for good ends, though an activity of it does not', async () => {
  const program = join(import.meta.dirname, '../support/lost-namespace.ts');

  const { stdout } = await promisify(execFile)(process.execPath, ['--disable-warning=ExperimentalWarning', program]);

  // Which of the two ways the SDK takes is up to its race.
  expect(JSON.parse(stdout)).toEqual({
    how: expect.stringMatching(/the worker polls no more|IllegalStateError/),
    state: 'FAILED',
    atWork: 1,
  });
});
