import { spawnSync } from 'node:child_process';
import { stripTypeScriptTypes } from 'node:module';
import { expect, test } from '@jest/globals';
import { openApiDocument } from '../../api/http/openapi.ts';
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

function faultOf(source: string): string | null {
  try {
    stripTypeScriptTypes(source);
    return null;
  } catch (error) {
    return String(error);
  }
}
