import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from '@jest/globals';
import { pythonPackages } from '../../support/python-packages.ts';
import { clientFolder, describePython } from './python.ts';

describePython('generated files of the Python client', () => {
  test('they are what the served document gives', async () => {
    const made = mkdtempSync(join(tmpdir(), 'longhaul-generated-'));
    const generator = join(import.meta.dirname, '../../../clients/generate/python/index.ts');
    const packages = pythonPackages({ requirements: '../../clients/generate/python/requirements.txt', folder: 'python-generator' });
    const env = { PATH: process.env['PATH'], PYTHONPATH: packages };
    await promisify(execFile)(process.execPath, ['--disable-warning=ExperimentalWarning', generator, made], { env });
    const committed = join(clientFolder, 'src/longhaul/_generated');
    const files = readdirSync(committed).filter((name) => name.endsWith('.py'));

    expect(readdirSync(made).toSorted()).toEqual(files.toSorted());
    for (const name of files) {
      // Not a matcher of texts: its report of two files of a megabyte would take minutes.
      const isSame = readFileSync(join(made, name), 'utf8') === readFileSync(join(committed, name), 'utf8');
      expect([name, isSame]).toEqual([name, true]);
    }
    rmSync(made, { recursive: true });
  });
});
