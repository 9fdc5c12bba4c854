import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { expect, test } from '@jest/globals';
import { build } from 'esbuild';
import { contractVersion, Longhaul } from '../../../clients/typescript/src/index.ts';
import { operationsOf } from '../../../clients/generate/operations.ts';
import { prepare } from '../../../clients/generate/prepare.ts';
import { tableSource } from '../../../clients/generate/typescript.ts';
import { openApiDocument } from '../../../api/http/openapi/openapi.ts';
import { areas } from '../../../api/operations.ts';
import { streamProtocolView } from '../../../api/streams/protocol.ts';

const run = promisify(execFile);
const root = join(import.meta.dirname, '../../..');
const folder = join(root, 'clients/typescript');
const served = openApiDocument(areas, { publicUrl: 'https://longhaul.test', audience: 'all' });
const prepared = prepare(JSON.parse(JSON.stringify(served)), JSON.parse(JSON.stringify(streamProtocolView())));

test('every operation of the contract is a call, and the table is that of the document', async () => {
  const operations = operationsOf(prepared);
  const table = await readFile(join(folder, 'src/generated/table.ts'), 'utf8');
  const longhaul = new Longhaul({ baseUrl: 'https://longhaul.test' });
  const rows = (text: string) => text.match(/^ {2}\w+: .*$/gm)?.map((line) => line.replaceAll(/\s+/g, ' '));

  expect(operations).toHaveLength(282);
  expect(operations.filter(({ id }) => typeof Reflect.get(longhaul, id) !== 'function')).toEqual([]);
  expect(rows(table)).toEqual(rows(tableSource(prepared, operations)));
});

test('its version is the contract’s major and minor', async () => {
  const { version, dependencies } = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'));
  const minor = (text: string) => text.split('.').slice(0, 2).join('.');

  expect(contractVersion).toBe(served['info'].version);
  expect(minor(version)).toBe(minor(contractVersion));
  expect(dependencies).toBeUndefined();
});

test('what replies hold is open, values that may grow are any text, and bodies of requests stay closed', () => {
  const { schemas } = prepared.document.components;

  expect(JSON.stringify(schemas['RunView'])).not.toContain('"additionalProperties":false');
  expect(JSON.stringify(schemas['ScheduleBackfillView'])).not.toContain('"queued"');
  expect(schemas['RunCreate']).toMatchObject({ additionalProperties: false });
  expect(schemas['Frame']).toMatchObject({ oneOf: expect.arrayContaining([{ $ref: '#/components/schemas/RunFinishedFrame' }]) });
});

test('it takes a browser at most 15 KB gzipped, and imports nothing', async () => {
  const { outputFiles } = await build({
    entryPoints: [join(folder, 'src/index.ts')],
    ...{ bundle: true, minify: true, write: false, platform: 'browser', format: 'esm', target: 'es2023' },
  });
  const [output] = outputFiles;

  expect(gzipSync(output?.contents ?? '').length).toBeLessThanOrEqual(15 * 1_024);
  expect(output?.text).not.toMatch(/\bimport\b\s*[("'{*]/);
});

test('it builds to modules with declarations that work without the sources', async () => {
  const target = await mkdtemp(join(tmpdir(), 'longhaul-client-'));
  const tsc = join(root, 'node_modules/typescript/bin/tsc');
  await run(process.execPath, [tsc, '-p', folder, '--outDir', target]);
  const script = `import { Longhaul } from ${JSON.stringify(join(target, 'index.js'))}; console.log(typeof new Longhaul({ baseUrl: 'http://x' }).createRun)`;
  const { stdout } = await run(process.execPath, ['--input-type=module', '-e', script]);
  const files = await readdir(target);
  await rm(target, { recursive: true });

  expect(stdout.trim()).toBe('function');
  expect(files).toEqual(expect.arrayContaining(['index.js', 'index.d.ts', 'client.js', 'client.d.ts']));
});
