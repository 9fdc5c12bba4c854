import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { operationsOf } from '../operations.ts';
import type { Node, Prepared } from '../prepare.ts';
import { printed } from '../printed.ts';
import { errorsSource, operationsSource } from './emit.ts';

const root = join(import.meta.dirname, '../../..');
/** Where the generated files go; a test names a folder of its own to compare. The packages of requirements.txt are in PYTHONPATH. */
const target = process.argv[2] ?? join(root, 'clients/python/src/longhaul/_generated');

/** NotRequired came with Python 3.11; below it, the transport brings typing_extensions. */
const typingImports = `import sys
from typing import Any, Literal, TypeAlias, TypedDict

if sys.version_info >= (3, 11):
    from typing import NotRequired
else:
    from typing_extensions import NotRequired`;

const prepared = await printed();
await writeFile(join(target, '__init__.py'), '"""Made from the served document by clients/generate/python; do not edit."""\n');
await writeFile(join(target, 'errors.py'), errorsSource(prepared));
await writeFile(join(target, 'operations.py'), operationsSource(prepared, operationsOf(prepared)));
await writeTypes(prepared, join(target, 'types.py'));

/** Types of the components alone: the calls have their types from the emitter. */
async function writeTypes({ document }: Prepared, path: string): Promise<void> {
  // The envelope with a fixed status: a type that narrows a field of another can't be said.
  const { HTTPValidationError: _, StreamProtocolView, ...schemas } = document.components.schemas;
  const frames = (StreamProtocolView as { properties: { frames: { items: Node } } }).properties.frames; // pinned by the document
  // Its nameless items would take the name of a run's frames.
  const named = { ...schemas, StreamProtocolView, StreamProtocolFrame: frames.items };
  frames.items = { $ref: '#/components/schemas/StreamProtocolFrame' };
  const folder = await mkdtemp(join(tmpdir(), 'longhaul-generate-'));
  const source = join(folder, 'openapi.json');
  await writeFile(source, JSON.stringify({ ...document, paths: {}, components: { schemas: named } }));
  const options = [
    ['--input', source],
    ['--input-file-type', 'openapi'],
    ['--openapi-scopes', 'schemas'],
    ['--output', path],
    ['--output-model-type', 'typing.TypedDict'],
    ['--target-python-version', '3.11'],
    ['--enum-field-as-literal', 'all'],
    // On the wire a decimal is a string: no amount passes a float.
    ['--type-mappings', 'string+decimal=string', 'string+binary=string', 'string+int64=string'],
    ['--formatters', 'builtin'],
    ['--custom-file-header', '"""Made from the served document by clients/generate/python; do not edit."""'],
    ['--use-standard-collections', '--use-union-operator', '--no-use-closed-typed-dict', '--use-schema-description', '--disable-warnings'],
  ];
  const python = ['-m', 'datamodel_code_generator', ...options.flat()];
  await promisify(execFile)('python3', python, {
    env: { PATH: process.env['PATH'], PYTHONPATH: process.env['PYTHONPATH'] },
    maxBuffer: 10_000_000,
  });
  await rm(folder, { recursive: true });
  const types = await readFile(path, 'utf8');
  await writeFile(path, types.replace(/^from typing import .*$/m, typingImports));
}
