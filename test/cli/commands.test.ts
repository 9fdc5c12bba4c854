import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { runInPlace } from './command.ts';

test('--version prints the version of the package', async () => {
  const { version } = JSON.parse(readFileSync('package.json', 'utf8'));

  expect(await runInPlace(['--version'], {})).toEqual({ code: 0, output: `longhaul ${version}\n` });
});

test('--help lists every command, and so does no command at all', async () => {
  const help = await runInPlace(['--help'], {});

  expect(help).toMatchObject({ code: 0, output: expect.stringMatching(/longhaul up .*longhaul usage rebuild /s) });
  expect(await runInPlace([], {})).toEqual(help);
});

test.each([
  [['launch'], 'There is no command launch.'],
  [['up', '--demonstration'], "Unknown option '--demonstration'"],
  [['audit', '--organization'], "Option '--organization <value>' argument missing"],
  [['keys', 'turn'], 'longhaul keys only accepts rotate.'],
])('a wrong command line (%j) is answered in a few lines that name what is wrong and where the commands are listed', async (args, told) => {
  const { code, output } = await runInPlace(args, {});

  expect(code).toBe(1);
  expect(output).toContain(told);
  expect(output).toContain('longhaul --help');
  expect(output.trim().split('\n').length).toBeLessThanOrEqual(3);
});
