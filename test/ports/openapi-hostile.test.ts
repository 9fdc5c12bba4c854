import { afterAll, expect, test } from '@jest/globals';
import { createOpenApiReader } from '../../ports/openapi/reader.ts';
import { testWorkPool } from '../support/work-pool.ts';

const pool = testWorkPool();
const reader = createOpenApiReader(pool);

afterAll(() => pool.close());

async function only(operation: unknown, method = 'get') {
  const text = JSON.stringify({ openapi: '3.1.0', paths: { '/things': { [method]: operation } } });
  const { operations, problems } = await reader.read(null, { document: text, include: null, exclude: [] });
  expect(problems).toEqual([]);
  const [one] = operations;
  if (!one) throw new Error('no operation was read');
  return one;
}

const inQuery = (name: string, schema: unknown, more: object = {}) => ({ name, in: 'query', schema, ...more });

test('texts that are cut stay whole characters, so that the document can be kept', async () => {
  const text = (length: number) => `${'x'.repeat(length - 1)}😀 and more`;

  const operation = await only({
    operationId: text(128),
    summary: text(200),
    description: text(4_096),
    parameters: [inQuery('q', { type: 'string' }, { description: text(1_000) })],
  });

  expect(operation).toMatchObject({ name: 'x'.repeat(127), title: 'x'.repeat(199), description: 'x'.repeat(4_095) });
});

test('keys that every object inherits are names like others', async () => {
  const text = `{"openapi":"3.1.0","paths":{"__proto__":{"get":{}},"/a":{"post":{"parameters":[
    {"name":"__proto__","in":"query","schema":{"type":"string"}},{"name":"constructor","in":"query","schema":{"type":"string"}}],
    "requestBody":{"content":{"application/json":{"schema":{"type":"object","properties":{"__proto__":{"type":"string"},"toString":{"type":"string"}}}}}}}}}}`;

  const { operations, problems } = await reader.read(null, { document: text, include: null, exclude: [] });

  expect(problems).toEqual([]);
  expect(operations).toHaveLength(1);
  expect(operations[0]?.request.parameters.map(({ argument }) => argument)).toEqual(['p___proto__', 'constructor']);
});

test.each(['multipart/form-data', 'text/xml'])('schemas that refer to many from many cost no document: %s', async (mediaType) => {
  const others = (from: number) => Array.from({ length: 9 }, (_, at) => ({ $ref: `#/c/${(from + at + 1) % 50}` }));
  const c = Array.from({ length: 50 }, (_, at) => ({ allOf: others(at), anyOf: others(at), oneOf: others(at) }));
  const post = { operationId: 'send', requestBody: { content: { [mediaType]: { schema: { $ref: '#/c/0' } } } } };

  const reading = await reader.read(null, {
    document: JSON.stringify({ openapi: '3.1.0', paths: { '/a': { post } }, c }),
    include: null,
    exclude: [],
  });

  expect(reading.operations.map(({ name }) => name)).toEqual(['send']);
});
