import { execFile } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, expect, test } from '@jest/globals';
import { examplesFolder } from './examples.ts';
import { clientFolder, describePython, pythonEnv, pythonPath } from './python.ts';

const run = promisify(execFile);
const folder = mkdtempSync(join(tmpdir(), 'longhaul-package-'));

describePython('the package of the Python client', () => {
  afterAll(() => rmSync(folder, { recursive: true }));

  test.each(['3.10', '3.13'])('its types and those of the examples hold under mypy --strict for Python %s', async (version) => {
    const places = [join(clientFolder, 'src/longhaul'), examplesFolder];
    const options = ['--strict', '--python-version', version, '--cache-dir', join(folder, `mypy-${version}`)];
    const env = { ...pythonEnv(), MYPYPATH: join(clientFolder, 'src') };
    const { stdout } = await run('python3', ['-m', 'mypy', ...options, ...places], { env });

    expect(stdout).toContain('Success');
  });

  test('wheel and source distribution are built, and hold the package, its types and nothing else', async () => {
    const source = join(folder, 'source');
    cpSync(clientFolder, source, { recursive: true, filter: (path) => !path.includes('__pycache__') });
    await run('python3', ['-m', 'build', '--no-isolation', '--outdir', join(folder, 'dist'), source], { env: pythonEnv() });
    const built = readdirSync(join(folder, 'dist')).toSorted();
    const listed = "import sys, zipfile; print('\\n'.join(zipfile.ZipFile(sys.argv[1]).namelist()))";
    const { stdout } = await run('python3', ['-c', listed, join(folder, 'dist', built[0] ?? '')], { env: pythonEnv() });

    expect(built).toEqual(['longhaul-0.1.0-py3-none-any.whl', 'longhaul-0.1.0.tar.gz']);
    expect(stdout.split('\n')).toEqual(
      expect.arrayContaining(['longhaul/py.typed', 'longhaul/_generated/types.py', 'longhaul/__init__.py']),
    );
    expect(stdout.split('\n').filter((name) => name !== '' && !/^longhaul(?:-0\.1\.0\.dist-info)?\//.test(name))).toEqual([]);
    // From the wheel alone: what the checkout has beside it is not needed.
    const [packages = ''] = pythonPath().split(':').slice(1);
    const env = { ...pythonEnv(), PYTHONPATH: [join(folder, 'dist', built[0] ?? ''), packages].join(':') };
    const program = 'import longhaul; print(longhaul.__version__, longhaul.__file__)';
    expect((await run('python3', ['-c', program], { env })).stdout).toMatch(/^0\.1\.0 .*\.whl/);
  });

  test('its version has the major and minor of the contract', () => {
    const document = JSON.parse(readFileSync(join(import.meta.dirname, '../../contract/openapi.json'), 'utf8')) as {
      info: { version: string };
    }; // pinned by the contract tests
    const version = /"([\d.]+)"/.exec(readFileSync(join(clientFolder, 'src/longhaul/_version.py'), 'utf8'))?.[1] ?? '';

    expect(version.split('.').slice(0, 2)).toEqual(document.info.version.split('.').slice(0, 2));
  });
});
