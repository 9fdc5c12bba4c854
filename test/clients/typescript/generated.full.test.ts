import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from '@jest/globals';

const run = promisify(execFile);
const root = join(import.meta.dirname, '../../..');
const generate = join(root, 'clients/generate');
const committed = join(root, 'clients/typescript/src/generated');

/** Installs the generator's packages; the reason if that is not possible. */
async function installed(): Promise<string | null> {
  if (existsSync(join(generate, 'node_modules/openapi-typescript/package.json'))) return null;
  const failure = await run('npm', ['ci', '--no-audit', '--no-fund'], { cwd: generate }).then(
    () => null,
    (error: unknown) => String(error),
  );
  if (failure !== null && process.env['CI']) throw new Error(`the generator's packages can't be installed: ${failure}`);
  return failure;
}

const missing = await installed();
const testUnlessMissing = missing === null ? test : test.skip;
if (missing !== null) process.stderr.write(`skipped: the generator's packages can't be installed: ${missing.split('\n')[0]}\n`);

testUnlessMissing('generated files made anew are the committed ones', async () => {
  // Inside the project, so that the formatter's configuration holds.
  await mkdir(join(root, '.longhaul'), { recursive: true });
  const folder = await mkdtemp(join(root, '.longhaul/generated-'));
  await run(process.execPath, [join(generate, 'index.ts'), folder]);
  const pairs = ['table.ts', 'calls.ts', 'types.ts'].map(async (name) => [
    await readFile(join(folder, name), 'utf8'),
    await readFile(join(committed, name), 'utf8'),
  ]);
  const differing = (await Promise.all(pairs)).filter(([made, old]) => made !== old);
  await rm(folder, { recursive: true });

  expect(differing.length).toBe(0);
});
