import { isDeepStrictEqual } from 'node:util';
import type { TSchema } from 'typebox';
import { emailPattern } from './formats.ts';
import { describeName } from './openapi-descriptions.ts';

export type Json = Record<string, unknown>;

/** Collects the named schemas of a document: one that has an `$id` becomes a component and is referred to. */
export interface SchemaCollector {
  /** The schema as it stands in the document, its named parts as references. */
  refer(schema: TSchema): Json;
  /** Everything collected, by name. */
  components(): Record<string, Json>;
}

export function createCollector(): SchemaCollector {
  const known = new Map<string, Json>();

  const refer = (schema: Json): Json => {
    const { $id: name, ...bare } = schema;
    if (typeof name !== 'string') return rewrite(bare);
    const made = rewrite(bare);
    const before = known.get(name);
    if (before && !isDeepStrictEqual(before, made)) throw new Error(`two schemas are called ${name}`);
    known.set(name, made);
    return { $ref: `#/components/schemas/${name}` };
  };

  const rewrite = (schema: Json): Json =>
    bounded(Object.fromEntries(Object.entries(schema).map(([keyword, value]) => [keyword, rewriteKeyword(keyword, value)])));

  const rewriteKeyword = (keyword: string, value: unknown): unknown => {
    if (keyword === 'properties') {
      return Object.fromEntries(Object.entries(asObject(value)).map(([name, child]) => [name, described(name, refer(asObject(child)))]));
    }
    if (keyword === '$defs' || keyword === 'patternProperties') {
      return Object.fromEntries(Object.entries(asObject(value)).map(([name, child]) => [name, refer(asObject(child))]));
    }
    if (['default', 'enum', 'const', 'example', 'examples', 'required', 'type', 'x-extensible-enum', 'discriminator'].includes(keyword))
      return value;
    if (Array.isArray(value)) return value.map((item: unknown) => (isObject(item) ? refer(item) : item));
    return isObject(value) ? refer(value) : value;
  };

  return {
    // TypeBox schemas are plain JSON Schema objects, here read as such.
    refer: (schema) => refer(schema as unknown as Json),
    components: () => Object.fromEntries([...known].toSorted(([left], [right]) => (left < right ? -1 : 1))),
  };
}

function described(name: string, schema: Json): Json {
  return schema['description'] === undefined && schema['$ref'] === undefined ? { ...schema, description: describeName(name) } : schema;
}

/** Longest text of each format: readers that know no formats still see a bound. */
const lengthByFormat: Readonly<Record<string, number>> = {
  'uuid': 36,
  'date-time': 35,
  'date': 10,
  'email': 254,
  'https-url': 2_048,
  'decimal': 40,
};

/** Says in the document what the validator knows from the format or the bounds, and names no format that it does not keep as others do. */
export function bounded(given: Json): Json {
  const schema = given['format'] === 'email' ? withPattern(given, emailPattern) : given;
  const types = Array.isArray(schema['type']) ? schema['type'] : [schema['type']];
  if (types.includes('integer') && schema['format'] === undefined) {
    const isSmall = Number(schema['maximum']) < 2 ** 31 && Number(schema['minimum']) >= -(2 ** 31);
    return { ...schema, format: isSmall ? 'int32' : 'int64' };
  }
  const length = lengthByFormat[String(schema['format'])];
  return types.includes('string') && length !== undefined && schema['maxLength'] === undefined && schema['enum'] === undefined
    ? { ...schema, maxLength: length }
    : schema;
}

function withPattern(given: Json, pattern: string): Json {
  const { format: _, ...schema } = given;
  return { maxLength: lengthByFormat['email'], ...schema, pattern };
}

/** Name of a schema's component; null when it stands inline. */
export function nameOf(schema: TSchema | null): string | null {
  const id: unknown = schema ? Reflect.get(schema, '$id') : null;
  return typeof id === 'string' ? id : null;
}

function asObject(value: unknown): Json {
  return isObject(value) ? value : {};
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
