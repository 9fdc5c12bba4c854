import { expect, test } from '@jest/globals';
import { checkSchema } from '../../ports/json/schema-rules.ts';
import { exponentialSchema } from '../support/hostile-work.ts';

const object = (more: Record<string, unknown>) => ({ type: 'object', ...more });
const costly = (pointer: string) => [expect.objectContaining({ pointer, rule: 'too_costly' })];
const ref = (name: string) => ({ $ref: `#/$defs/${name}` });

/** A chain of definitions, each of them made of the next one. */
function chain(make: (next: Record<string, unknown>) => Record<string, unknown>, length = 30) {
  const $defs: Record<string, unknown> = { [`d${length}`]: { type: 'string' } };
  for (let at = 0; at < length; at++) $defs[`d${at}`] = make(ref(`d${at + 1}`));
  return object({ $defs, properties: { a: ref('d0') } });
}

test('thirty definitions, each a choice of the next one twice, are refused at save', () => {
  expect(checkSchema(exponentialSchema('x'))).toEqual(costly(''));
});

test.each([
  ['anyOf', chain((next) => ({ anyOf: [next, next] }))],
  ['oneOf', chain((next) => ({ oneOf: [next, next] }))],
  ['allOf', chain((next) => ({ allOf: [next, next] }))],
  ['not beside a choice', chain((next) => ({ not: next, anyOf: [next] }))],
  ['if, then and else', chain((next) => Object.fromEntries(['if', 'then', 'else'].map((keyword) => [keyword, next])))],
  ['dependentSchemas', chain((next) => ({ dependentSchemas: { a: next, b: next } }))],
  ['dependencies', chain((next) => ({ dependencies: { a: next, b: next } }))],
  ['a reference beside a choice', chain((next) => ({ ...next, anyOf: [next] }))],
])('doubling by %s is told without evaluating it', (_case, schema) => {
  expect(checkSchema(schema)).toEqual([expect.objectContaining({ rule: 'too_costly' })]);
});

test.each([
  ['directly', object({ $defs: { a: ref('a') }, properties: { x: ref('a') } }), '/$defs/a'],
  ['by way of a choice', object({ $defs: { a: { anyOf: [ref('b')] }, b: { allOf: [ref('a')] } } }), '/$defs/a'],
  ['as a whole', object({ allOf: [{ $ref: '#' }] }), ''],
])('a reference that leads back at the same place, %s, is refused', (_case, schema, pointer) => {
  expect(checkSchema(schema)).toEqual(costly(pointer));
});

const tree = object({
  $defs: { node: object({ properties: { value: { type: 'string' }, children: { type: 'array', items: ref('node') } } }) },
  properties: { root: ref('node') },
});

/** Of the form of a large API: many definitions that refer to one another, unions, shared parts. */
function large(definitions: number) {
  const names = Array.from({ length: definitions }, (_, at) => `Kind${at}`);
  const metadata = object({
    properties: { name: { type: 'string', maxLength: 63 }, labels: object({ additionalProperties: { type: 'string' } }) },
  });
  const kind = (at: number) =>
    object({
      description: `The kind ${at}`,
      properties: {
        metadata: ref('Metadata'),
        spec: {
          allOf: [
            ref('Metadata'),
            object({
              properties: {
                parent: ref(`Kind${(at + 1) % definitions}`),
                parts: { type: 'array', items: ref(`Kind${(at * 7) % definitions}`) },
              },
            }),
          ],
        },
        port: {
          anyOf: [
            { type: 'integer', minimum: 1 },
            { type: 'string', pattern: '^[a-z]+$' },
          ],
        },
      },
      required: ['metadata'],
    });
  const $defs = { Metadata: metadata, ...Object.fromEntries(names.map((name, at) => [name, kind(at)])) };
  return object({ $defs, properties: { items: { type: 'array', items: { oneOf: names.map(ref) } } } });
}

test.each([
  ['a tree of itself', tree],
  ['a hundred kinds that refer to one another', large(100)],
  ['a straight chain of two hundred references', chain((next) => ({ allOf: [next] }), 200)],
  ['a property that has the name of a keyword', object({ properties: { anyOf: { type: 'string' }, $ref: { type: 'string' } } })],
  ['values that only look like references', object({ properties: { a: { const: { $ref: '#/$defs/a' }, enum: [{ anyOf: [1, 2] }] } } })],
])('%s is sound', (_case, schema) => {
  expect(checkSchema(schema)).toEqual([]);
});
