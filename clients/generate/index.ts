import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { operationsOf } from './operations.ts';
import type { Prepared } from './prepare.ts';
import { printed } from './printed.ts';
import { callsSource, tableSource } from './typescript.ts';

const run = promisify(execFile);
const root = join(import.meta.dirname, '../..');
/** Where the generated files go; a test names a folder of its own to compare. */
const target = process.argv[2] ?? join(root, 'clients/typescript/src/generated');

const prepared = await printed();
const operations = operationsOf(prepared);
await writeFile(join(target, 'table.ts'), tableSource(prepared, operations));
await writeFile(join(target, 'calls.ts'), callsSource(operations));
await writeTypes(prepared, join(target, 'types.ts'));
const formatted = ['table.ts', 'calls.ts', 'types.ts'].map((name) => join(target, name));
await run(
  process.execPath,
  [join(root, 'node_modules/oxfmt/bin/oxfmt'), '--config', join(root, '.oxfmtrc.json'), '--write', ...formatted],
  {
    cwd: root,
  },
);

/** Types of the components alone: the calls have their types from the table's emitter. */
async function writeTypes({ document }: Prepared, path: string): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'longhaul-generate-'));
  const source = join(folder, 'openapi.json');
  await writeFile(source, JSON.stringify({ ...document, paths: {} }));
  const cli = join(import.meta.dirname, 'node_modules/openapi-typescript/bin/cli.js');
  const options = ['--default-non-nullable=false', '--root-types', '--root-types-no-schema-prefix', '--root-types-keep-casing'];
  await run(process.execPath, [cli, source, '-o', path, ...options]);
  await rm(folder, { recursive: true });
}
