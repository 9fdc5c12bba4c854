import { spawnSync } from 'node:child_process';
import { stripTypeScriptTypes } from 'node:module';
import { expect, test } from '@jest/globals';
import { codeSamplesOf } from '../../api/http/openapi/samples.ts';
import { openApiDocument } from '../../api/http/openapi/openapi.ts';
import { area, post } from '../../api/http/operation/operation.ts';
import { FreeObject } from '../../api/http/input/schema.ts';
import { areas } from '../../api/operations.ts';
import { asArray, asObject } from './newcomer.ts';

const { paths } = openApiDocument(areas, { publicUrl: 'https://longhaul.test', audience: 'all' });
const samples = Object.values(paths)
  .flatMap((item) => Object.values(item))
  .flatMap((operation) =>
    asArray(operation['x-codeSamples']).map((sample) => {
      const { label, source } = asObject(sample);
      return { operationId: String(operation['operationId']), label: String(label), source: String(source) };
    }),
  );
const sourcesOf = (label: string) => samples.filter((sample) => sample.label === label);
const operationCount = Object.values(paths).flatMap((item) => Object.values(item)).length;

test('every operation has a sample for curl, TypeScript and Python', () => {
  for (const label of ['curl', 'TypeScript', 'Python']) expect([label, sourcesOf(label).length]).toEqual([label, operationCount]);
});

test('the samples for curl are commands of a POSIX shell', () => {
  for (const { operationId, source } of sourcesOf('curl')) {
    const { status, stderr } = spawnSync('sh', ['-n'], { input: source, encoding: 'utf8' });
    expect([operationId, status, stderr]).toEqual([operationId, 0, '']);
  }
});

test('the samples for TypeScript are modules that Node runs as they are', () => {
  for (const { operationId, source } of sourcesOf('TypeScript')) {
    expect([operationId, faultOf(source)]).toEqual([operationId, null]);
  }
});

test('the samples for Python compile', () => {
  const script = 'import json, sys\nfor sample in json.load(sys.stdin): compile(sample["source"], sample["operationId"], "exec")';
  const { status, stderr } = spawnSync('python3', ['-c', script], { input: JSON.stringify(sourcesOf('Python')), encoding: 'utf8' });

  expect([status, stderr]).toEqual([0, '']);
});

/** Values that a language could write wrongly. */
const odd = {
  text: `it's "quoted", $HOME \\ and \`ticks\` {braces}`,
  lines: 'a\nb',
  none: null,
  yes: true,
  no: false,
  list: [1, -2.5, 'ä'],
  empty: {},
  some: [],
};
const things = area('Runs', {
  createThing: post(
    '/things',
    {
      summary: 'Create',
      description: 'Creates a thing, for a test.',
      access: 'member',
      audit: 'create',
      example: { body: odd },
      body: FreeObject,
    },
    async () => undefined,
  ),
}).operations.flatMap((operation) => codeSamplesOf(operation, 'https://longhaul.test').map((sample) => String(sample['source'])));

test('every language sends the very values of the example', () => {
  const [curl = '', typescript = '', python = ''] = things;
  const shell = `curl() { for last; do :; done; printf '%s' "$last"; }\n${curl}`;
  const node = `globalThis.fetch = async (_, { body }) => (console.log(body), process.exit(0));\n${typescript}`;
  const stub =
    'import json, sys, types\nsys.modules["httpx"] = types.SimpleNamespace(request=lambda *_, json, **__: print(__import__("json").dumps(json)) or sys.exit(0))\n';
  const env = { PATH: process.env['PATH'], LONGHAUL_KEY: 'k' };
  const outputs = [
    spawnSync('sh', ['-c', shell], { encoding: 'utf8', env }),
    spawnSync(process.execPath, ['--input-type=module-typescript', '--eval', node], { encoding: 'utf8', env }),
    spawnSync('python3', ['-c', stub + python], { encoding: 'utf8', env }),
  ];

  for (const { stdout, stderr } of outputs) expect([stderr, JSON.parse(stdout)]).toEqual(['', odd]);
});

function faultOf(source: string): string | null {
  try {
    stripTypeScriptTypes(source);
    return null;
  } catch (error) {
    return String(error);
  }
}
