import { afterAll, expect, test } from '@jest/globals';
import { askInputSchema } from '../../db/agents/effective/ask-schema.ts';
import { createSchemas } from '../../ports/json/schema.ts';
import { testWorkPool } from '../support/work-pool.ts';

const pool = testWorkPool();
const schemas = createSchemas(pool).of(null);
afterAll(() => pool.close());

const city = { type: 'string', minLength: 2 };
const problemsOf = async (own: Readonly<Record<string, unknown>>, input: unknown) => {
  expect(await schemas.check(own)).toEqual([]);
  const asked = askInputSchema(own);
  return [...(await schemas.check(asked)), ...(await schemas.validate(asked, { input }))].map(({ pointer }) => pointer);
};

test.each(['default', 'examples', 'enum', 'const', '$schema', '$ref', 'properties', 'place'])(
  'an agent whose input has a property called %s is asked with it',
  async (name) => {
    const own = {
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      type: 'object',
      properties: { [name]: { $ref: '#/$defs/city' } },
      required: [name],
      additionalProperties: false,
      $defs: { city },
    };

    expect(await problemsOf(own, { [name]: 'Rome' })).toEqual([]);
    expect(await problemsOf(own, { [name]: 'R' })).toEqual([`/input/${name}`]);
  },
);

test('what looks like a reference in data stays as it is', async () => {
  const value = { $ref: '#/$defs/city' };
  const own = { type: 'object', properties: { it: { const: value, default: value, examples: [value] } }, $defs: { default: city } };

  expect(await problemsOf(own, { it: value })).toEqual([]);
  expect(askInputSchema(own)).toMatchObject({
    properties: { input: { properties: { it: { const: value, default: value, examples: [value] } } } },
  });
});

test('an agent whose input is of an old draft is asked by the rules of that draft', async () => {
  const own = {
    $schema: 'http://json-schema.org/draft-04/schema#',
    type: 'object',
    properties: { n: { minimum: 4, exclusiveMinimum: true }, pair: { items: [{ $ref: '#/definitions/city' }], additionalItems: false } },
    definitions: { city },
  };

  expect(await problemsOf(own, { n: 5, pair: ['Rome'] })).toEqual([]);
  expect(await problemsOf(own, { n: 4, pair: ['R', 1] })).toEqual(expect.arrayContaining(['/input/n', '/input/pair/0', '/input/pair']));
});
