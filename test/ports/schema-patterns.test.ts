import { afterAll, expect, test } from '@jest/globals';
import { createSchemas } from '../../ports/json/schema.ts';
import { testWorkPool } from '../support/work-pool.ts';

const pool = testWorkPool();
const schemas = createSchemas(pool).of('a');

afterAll(() => pool.close());

const ahead = '^(?=.*x)';
const object = (properties: Record<string, unknown>, more: Record<string, unknown> = {}) => ({ type: 'object', properties, ...more });

test.each([
  ['a look-ahead', ahead],
  ['a look-behind', '(?<!a)b'],
  ['a back-reference', '(a)\\1'],
  ['a count over 1000', '^.{1,2048}$'],
])('%s costs its pattern, with the reason, and nothing else of the schema', async (_case, pattern) => {
  const schema = object({ a: { type: 'string', pattern }, b: { type: 'string', pattern: '^b$' } });

  expect(await schemas.read(schema)).toEqual({
    problems: [],
    ignored: [{ pointer: '/properties/a/pattern', rule: 'pattern', message: expect.stringContaining('cannot be run in linear time') }],
  });
  expect(await schemas.validate(schema, { a: 'anything', b: 'b' })).toEqual([]);
  expect((await schemas.validate(schema, { a: 1, b: 'c' })).map(({ pointer }) => pointer)).toEqual(['/a', '/b']);
});

test('its own author has to mend it', async () => {
  expect(await schemas.check(object({ a: { pattern: ahead } }))).toEqual([expect.objectContaining({ pointer: '/properties/a/pattern' })]);
});

test.each<[string, Record<string, unknown>, unknown]>([
  ['not', { not: { pattern: ahead } }, 'x'],
  ['not, by a reference', { not: { $ref: '#/$defs/loose' } }, 'x'],
  ['oneOf', { oneOf: [{ pattern: ahead }, { pattern: '^a' }] }, 'abc'],
  ['oneOf, of two', { oneOf: [{ pattern: ahead }, { pattern: '(?!x)' }] }, 'abc'],
  ['if', Object.fromEntries(['if', 'then'].map((keyword, at) => [keyword, [{ pattern: ahead }, false][at]])), 'x'],
  ['contains', { contains: { pattern: ahead }, maxContains: 1 }, ['x', 'y']],
  ['patternProperties', { patternProperties: { [ahead]: { type: 'string' } }, additionalProperties: false }, { x: 'y' }],
  ['names that were covered elsewhere', { allOf: [{ patternProperties: { [ahead]: {} } }], unevaluatedProperties: false }, { x: 'y' }],
])('a pattern that is ignored refuses nothing: %s', async (_case, schema, value) => {
  const whole = object({ a: schema }, { $defs: { loose: { anyOf: [{ pattern: ahead }] } } });

  expect((await schemas.read(whole)).problems).toEqual([]);
  expect(await schemas.validate(whole, { a: value })).toEqual([]);
});

test.each<[string, Record<string, unknown>, unknown]>([
  ['not', { not: { pattern: '^x' } }, 'x'],
  ['oneOf', { oneOf: [{ pattern: '^a' }, { pattern: '^ab' }] }, 'abc'],
  ['additionalProperties', { patternProperties: { '^x': {} }, additionalProperties: false }, { y: 1 }],
])('what does not depend on it still holds beside it: %s', async (_case, schema, value) => {
  expect(await schemas.validate(object({ a: schema, b: { pattern: ahead } }), { a: value })).not.toEqual([]);
});

test('a property may be called pattern, and data may look like one', async () => {
  const schema = object({ pattern: { type: 'string' }, a: { default: { pattern: ahead }, enum: [{ pattern: ahead }] } });

  expect(await schemas.read(schema)).toEqual({ problems: [], ignored: [] });
});
