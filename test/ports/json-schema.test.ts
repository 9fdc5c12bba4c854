import { expect, test } from '@jest/globals';
import { createTenantSchemas } from '../../ports/json-schema.ts';

const schemas = createTenantSchemas();

test('a catastrophic pattern costs linear time', () => {
  const schema = { type: 'object', properties: { a: { type: 'string', pattern: '^(a+)+$' } } };
  const started = process.cpuUsage();

  const problems = schemas.validate(schema, { a: `${'a'.repeat(5_000)}!` });

  const { user } = process.cpuUsage(started);
  expect(problems).toEqual([expect.objectContaining({ pointer: '/a', rule: 'pattern' })]);
  expect(user).toBeLessThan(5_000_000);
});

test('each pattern is applied to its own property', () => {
  const schema = { type: 'object', properties: { a: { type: 'string', pattern: '^a$' }, b: { type: 'string', pattern: '^b$' } } };

  expect(schemas.validate(schema, { a: 'a', b: 'b' })).toEqual([]);
  expect(schemas.validate(schema, { a: 'b', b: 'a' }).map((problem) => problem.pointer)).toEqual(['/a', '/b']);
});

test.each([
  ['not an object', 'text'],
  ['another root type', { type: 'array' }],
  ['a foreign reference', { type: 'object', properties: { a: { $ref: 'https://example.com/schema' } } }],
  ['an unknown type', { type: 'object', properties: { a: { type: 'thing' } } }],
  ['a pattern with a look-ahead', { type: 'object', properties: { a: { type: 'string', pattern: '(?=x)' } } }],
  ['too many levels', nested(25)],
  ['too many bytes', { type: 'object', description: 'x'.repeat(70_000) }],
])('a schema is refused for %s', (_case, schema) => {
  expect(schemas.check(schema)).not.toEqual([]);
});

test('a sound schema with a local reference passes', () => {
  const schema = { type: 'object', $defs: { id: { type: 'string' } }, properties: { id: { $ref: '#/$defs/id' } }, required: ['id'] };

  expect(schemas.check(schema)).toEqual([]);
  expect(schemas.validate(schema, { id: 7 })).toEqual([expect.objectContaining({ pointer: '/id', rule: 'type' })]);
});

function nested(levels: number): Record<string, unknown> {
  let schema: Record<string, unknown> = { type: 'string' };
  for (let level = 0; level < levels; level++) schema = { type: 'object', properties: { a: schema } };
  return schema;
}
