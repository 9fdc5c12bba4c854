import { afterAll, expect, test } from '@jest/globals';
import { createOpenApiReader } from '../../ports/openapi-reader.ts';
import { createLiquid, renderTemplate } from '../../ports/template-rules.ts';
import { testWorkPool } from '../support/work-pool.ts';

const pool = testWorkPool();
const reader = createOpenApiReader(pool);

afterAll(() => pool.close());

async function only(operation: unknown, method = 'get') {
  const text = JSON.stringify({ openapi: '3.1.0', paths: { '/things': { [method]: operation } } });
  const { operations, problems } = await reader.read(null, { text, include: null });
  expect(problems).toEqual([]);
  const [one] = operations;
  if (!one) throw new Error('no operation was read');
  return one;
}

const render = (template: string, args: unknown) => renderTemplate(createLiquid(), template, { args }).text;
const inQuery = (name: string, schema: unknown, more: object = {}) => ({ name, in: 'query', schema, ...more });

test('an optional parameter called size is sent as the model says it, and not as a count', async () => {
  const { request, input_schema } = await only({
    parameters: [inQuery('page', { type: 'integer' }), inQuery('size', { type: 'integer' })],
  });
  const [argument = ''] = Object.keys(input_schema['properties'] as object).filter((name) => name !== 'page');

  const without = render(request.query['size'] ?? '', { page: 2 });
  const given = render(request.query['size'] ?? '', { page: 2, [argument]: 20 });

  expect([without, given]).toEqual(['', '20']);
});

test('so is a field of an object', async () => {
  const filter = { type: 'object', properties: { color: { type: 'string' }, size: { type: 'integer' } } };
  const { request } = await only({ parameters: [inQuery('f', filter, { style: 'deepObject' })] });

  expect(render(request.url, { f: { color: 'red' } })).toBe('/things?f[color]=red');
  expect(render(request.url, { f: { color: 'red', size: 3 } })).toBe('/things?f[color]=red&f[size]=3');
});

test('a form with an optional size is left to JSON', async () => {
  const schema = { type: 'object', properties: { size: { type: 'integer' }, color: { type: 'string' } } };
  const body = (more: object) => ({
    requestBody: { content: { 'application/x-www-form-urlencoded': { schema: { ...schema, ...more } } } },
  });

  expect((await only(body({}), 'post')).request.body.mode).toBe('none');
  expect((await only(body({ required: ['size'] }), 'post')).request.body.mode).toBe('form');
});

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

  const { operations, problems } = await reader.read(null, { text, include: null });

  expect(problems).toEqual([]);
  expect(operations).toHaveLength(1);
  expect(render(operations[0]?.request.query['constructor'] ?? '', {})).toBe('');
});
