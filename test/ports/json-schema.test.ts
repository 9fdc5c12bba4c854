import { afterAll, expect, test } from '@jest/globals';
import { createSchemas } from '../../ports/json/schema.ts';
import { testWorkPool } from '../support/work-pool.ts';

const pool = testWorkPool();
const schemas = createSchemas(pool).of('a');

afterAll(() => pool.close());

test('a catastrophic pattern costs linear time', async () => {
  const schema = { type: 'object', properties: { a: { type: 'string', pattern: '^(a+)+$' } } };

  const problems = await schemas.validate(schema, { a: `${'a'.repeat(5_000)}!` });

  expect(problems).toEqual([expect.objectContaining({ pointer: '/a', rule: 'pattern' })]);
});

test('each pattern is applied to its own property', async () => {
  const schema = { type: 'object', properties: { a: { type: 'string', pattern: '^a$' }, b: { type: 'string', pattern: '^b$' } } };

  expect(await schemas.validate(schema, { a: 'a', b: 'b' })).toEqual([]);
  expect((await schemas.validate(schema, { a: 'b', b: 'a' })).map((problem) => problem.pointer)).toEqual(['/a', '/b']);
});

test.each([
  ['not an object', 'text'],
  ['another root type', { type: 'array' }],
  ['a foreign reference', { type: 'object', properties: { a: { $ref: 'https://example.com/schema' } } }],
  ['an unknown type', { type: 'object', properties: { a: { type: 'thing' } } }],
  ['a pattern with a look-ahead', { type: 'object', properties: { a: { type: 'string', pattern: '(?=x)' } } }],
  ['an asynchronous validator', { $async: true, type: 'object' }],
  ['a dynamic reference', { type: 'object', $dynamicRef: '#' }],
  ['too many levels', nested(25)],
  ['too many bytes', { type: 'object', description: 'x'.repeat(70_000) }],
])('a schema is refused for %s', async (_case, schema) => {
  expect(await schemas.check(schema)).not.toEqual([]);
});

test('a sound schema with a local reference passes', async () => {
  const schema = { type: 'object', $defs: { id: { type: 'string' } }, properties: { id: { $ref: '#/$defs/id' } }, required: ['id'] };

  expect(await schemas.check(schema)).toEqual([]);
  expect(await schemas.validate(schema, { id: 7 })).toEqual([expect.objectContaining({ pointer: '/id', rule: 'type' })]);
});

test('a schema that takes exponential time is cut off, and the next one is served', async () => {
  const $defs: Record<string, unknown> = { d30: false };
  for (let n = 0; n < 30; n++) $defs[`d${n}`] = { anyOf: [{ $ref: `#/$defs/d${n + 1}` }, { $ref: `#/$defs/d${n + 1}` }] };
  const hostile = { type: 'object', $defs, $ref: '#/$defs/d0' };

  expect(await schemas.validate(hostile, { q: 'x' })).toEqual([expect.objectContaining({ rule: 'schema' })]);
  expect(await schemas.validate({ type: 'object' }, {})).toEqual([]);
});

test('a property may have the name of a keyword', async () => {
  expect(await schemas.check({ type: 'object', properties: { $id: { type: 'string' } } })).toEqual([]);
});

function nested(levels: number): Record<string, unknown> {
  let schema: Record<string, unknown> = { type: 'string' };
  for (let level = 0; level < levels; level++) schema = { type: 'object', properties: { a: schema } };
  return schema;
}
