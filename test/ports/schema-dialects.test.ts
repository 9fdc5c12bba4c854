import { afterAll, expect, test } from '@jest/globals';
import { createSchemas } from '../../ports/json/schema.ts';
import { inNewestDialect } from '../../workflows/contracts/tools/schema-dialect.ts';
import { testWorkPool } from '../support/work-pool.ts';

const pool = testWorkPool();
const schemas = createSchemas(pool).of('a');

afterAll(() => pool.close());

const draft = {
  '04': 'http://json-schema.org/draft-04/schema#',
  '06': 'http://json-schema.org/draft-06/schema#',
  '07': 'http://json-schema.org/draft-07/schema#',
  '2019-09': 'https://json-schema.org/draft/2019-09/schema',
  '2020-12': 'https://json-schema.org/draft/2020-12/schema',
} as const;
const of = (name: keyof typeof draft, property: Record<string, unknown>, more: Record<string, unknown> = {}) => ({
  $schema: draft[name],
  type: 'object',
  properties: { a: property },
  ...more,
});

/** An object with a `then` of its own is not written down: it would pass for a promise. */
const choice = (...schemas: unknown[]) => Object.fromEntries(['if', 'then'].map((keyword, at) => [keyword, schemas[at]]));

/** The same words mean different things in different drafts: what each takes and refuses. */
const rules: readonly [string, Record<string, unknown>, unknown, unknown][] = [
  ['04: a bound is exclusive by a boolean', of('04', { type: 'integer', minimum: 5, exclusiveMinimum: true }), 6, 5],
  ['04: const is no keyword', of('04', { const: 1, type: 'integer' }), 2, 'x'],
  ['04: items may be a list', of('04', { items: [{ type: 'integer' }], additionalItems: false }), [1], [1, 2]],
  ['06: a bound is exclusive by itself', of('06', { exclusiveMinimum: 5 }), 6, 5],
  ['06: if is no keyword', of('06', { ...choice(true, false), type: 'integer' }), 1, 'x'],
  ['07: if, then', of('07', choice({ type: 'string' }, { minLength: 2 })), 'ab', 'a'],
  [
    '07: nothing beside $ref counts',
    of('07', { $ref: '#/definitions/n', maximum: 1 }, { definitions: { n: { type: 'integer' } } }),
    9,
    'x',
  ],
  ['07: dependentRequired is no keyword', of('07', { type: 'object', dependentRequired: { x: ['y'] } }), { x: 1 }, 1],
  [
    '2019-09: what stands beside $ref counts',
    of('2019-09', { $ref: '#/$defs/n', maximum: 1 }, { $defs: { n: { type: 'integer' } } }),
    1,
    9,
  ],
  ['2019-09: items may be a list', of('2019-09', { items: [{ type: 'integer' }], additionalItems: false }), [1], [1, 2]],
  ['2020-12: prefixItems', of('2020-12', { prefixItems: [{ type: 'integer' }], items: false }), [1], [1, 2]],
  ['no draft counts as 2020-12', { type: 'object', properties: { a: { prefixItems: [{ type: 'integer' }] } } }, [1], ['x']],
];

test.each(rules)('draft %s', async (_rule, schema, fits, breaks) => {
  expect(await schemas.check(schema)).toEqual([]);
  expect(await schemas.validate(schema, { a: fits })).toEqual([]);
  expect(await schemas.validate(schema, { a: breaks })).not.toEqual([]);
});

test.each([...Object.keys(draft)] as (keyof typeof draft)[])('draft %s: a schema may refer to itself as a whole', async (name) => {
  const schema = of(name, { type: 'array', items: { $ref: '#' } }, { additionalProperties: false });

  expect(await schemas.check(schema)).toEqual([]);
  expect(await schemas.validate(schema, { a: [{ a: [] }] })).toEqual([]);
  expect(await schemas.validate(schema, { a: [{ b: [] }] })).toMatchObject([{ pointer: '/a/0' }]);
});

test.each(rules.filter(([rule]) => !/is no keyword|nothing beside/.test(rule)))(
  'what models are shown of draft %s says the same in words of 2020-12',
  async (_rule, schema, fits, breaks) => {
    const shown = inNewestDialect(schema);

    expect(shown).not.toHaveProperty('$schema');
    expect(await schemas.check(shown)).toEqual([]);
    expect(await schemas.validate(shown, { a: fits })).toEqual([]);
    expect(await schemas.validate(shown, { a: breaks })).not.toEqual([]);
  },
);

test.each([
  ['another scheme', 'https://json-schema.org/draft-07/schema#'],
  ['no fragment', 'http://json-schema.org/draft-07/schema'],
])('a draft is known with %s', async (_case, $schema) => {
  expect(await schemas.read({ $schema, type: 'object' })).toEqual({ problems: [], ignored: [] });
});

test('an unknown draft counts as 2020-12, and that is told', async () => {
  const schema = { $schema: 'https://example.com/mine', type: 'object', properties: { a: { prefixItems: [{ type: 'integer' }] } } };

  expect(await schemas.read(schema)).toEqual({
    problems: [],
    ignored: [expect.objectContaining({ pointer: '/$schema', rule: '$schema' })],
  });
  expect(await schemas.check(schema)).toEqual([]);
  expect(await schemas.validate(schema, { a: ['x'] })).not.toEqual([]);
});

test.each([
  ['04', { id: 'https://example.com/a' }],
  ['07', { $id: 'https://example.com/a' }],
] as const)('draft %s: the name of the whole leads nowhere, one inside is refused', async (name, named) => {
  expect(await schemas.check(of(name, { type: 'string' }, named))).toEqual([]);
  expect(await schemas.check(of(name, { type: 'string', ...named }))).not.toEqual([]);
  expect(await schemas.check(of(name, { default: named, enum: [named] }))).toEqual([]);
});

test('a word that the draft does not know is ignored, also one that was a keyword once', async () => {
  expect(await schemas.check(of('07', { type: 'string', id: 7 }))).toEqual([]);
  expect(await schemas.check({ type: 'object', properties: { a: { id: 'x' } } })).toEqual([]);
});
