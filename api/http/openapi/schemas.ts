import { isDeepStrictEqual } from 'node:util';
import type { TSchema } from 'typebox';
import { emailPattern } from '../input/formats.ts';
import { meaningOf, meaningOfComponent } from './descriptions.ts';
import { variantsOf } from './variants.ts';

export type Json = Record<string, unknown>;

/** Collects the named schemas of a document: one that has an `$id` becomes a component and is referred to. */
export interface SchemaCollector {
  /** The schema as it stands in the document, its named parts as references; `location` is the operation that it belongs to. */
  refer(schema: TSchema, location?: string): Json;
  /** Everything collected, by name. */
  components(): Record<string, Json>;
}

const componentPrefix = '#/components/schemas/';
/** Keywords that hold values, and no schemas. */
const asTheyStand = new Set(['default', 'enum', 'const', 'example', 'examples', 'required', 'type', 'x-extensible-enum', 'discriminator']);

export function createCollector(): SchemaCollector {
  const known = new Map<string, Json>();
  // Many operations share a view: the same object is the same component, and is not traversed again.
  const done = new WeakSet<Json>();

  const refer = (schema: Json, location: string): Json => {
    const { $id: name, ...bare } = schema;
    if (typeof name !== 'string') return rewrite(bare, location);
    const reference = { $ref: `${componentPrefix}${name}` };
    if (done.has(schema)) return reference;
    const made = rewrite(named(schema), name);
    const before = known.get(name);
    if (before && !isDeepStrictEqual(before, made)) throw new Error(`two schemas are called ${name}`);
    known.set(name, made);
    done.add(schema);
    return reference;
  };

  const rewrite = ({ 'x-stated': stated, ...schema }: Json, location: string): Json => {
    const made = Object.fromEntries(Object.entries(schema).map(([keyword, value]) => [keyword, rewriteKeyword(keyword, value, location)]));
    return withMapping({ ...bounded(made), ...statedKeywords(asObject(stated)) }, known);
  };

  const rewriteKeyword = (keyword: string, value: unknown, location: string): unknown => {
    if (keyword === 'properties') {
      const entries = Object.entries(asObject(value));
      return Object.fromEntries(
        entries.map(([name, child]) => [name, described(location, name, refer(asObject(child), `${location}.${name}`))]),
      );
    }
    if (keyword === '$defs' || keyword === 'patternProperties') {
      return Object.fromEntries(
        Object.entries(asObject(value)).map(([name, child]) => [name, refer(asObject(child), `${location}.${name}`)]),
      );
    }
    if (asTheyStand.has(keyword)) return value;
    if (Array.isArray(value)) return value.map((item: unknown) => (isObject(item) ? refer(item, location) : item));
    return isObject(value) ? refer(value, location) : value;
  };

  return {
    // TypeBox schemas are plain JSON Schema objects, here read as such.
    refer: (schema, location = '') => refer(schema as unknown as Json, location),
    components: () => Object.fromEntries([...known].toSorted(([left], [right]) => (left < right ? -1 : 1))),
  };
}

/** A component without its name: with what it is, and taken apart into its variants where it has some. */
function named({ $id: name, ...bare }: Json): Json {
  const meaning = meaningOfComponent(String(name));
  const schema = { ...(meaning === undefined ? {} : { description: meaning }), ...bare };
  const found = variantsOf({ $id: name, ...bare, properties: describedAll(String(name), asObject(bare['properties'])) });
  if (!found) return schema;
  return {
    type: 'object',
    description: schema['description'],
    discriminator: { propertyName: found.tag },
    oneOf: found.variants.map((variant) => variant.schema),
  };
}

/** Variants bear other names than what they are made from, whose fields they share. */
function describedAll(location: string, properties: Json): Json {
  return Object.fromEntries(
    Object.entries(properties).map(([name, child]) => {
      const schema = asObject(child);
      return [name, schema['$id'] === undefined ? described(location, name, schema) : schema];
    }),
  );
}

/** OpenAPI's mapping from the values of the discriminator to the components: without it readers show the components' names instead. */
function withMapping(schema: Json, known: ReadonlyMap<string, Json>): Json {
  const { propertyName, mapping } = asObject(schema['discriminator']);
  if (typeof propertyName !== 'string' || mapping !== undefined || !Array.isArray(schema['oneOf'])) return schema;
  const entries = schema['oneOf'].flatMap((form: unknown) => {
    const reference = String(asObject(form)['$ref']);
    const tag = asObject(asObject(known.get(reference.replace(componentPrefix, ''))?.['properties'])[propertyName]);
    return Array.isArray(tag['enum']) ? tag['enum'].map((value: unknown) => [String(value), reference]) : [];
  });
  return { ...schema, discriminator: { propertyName, mapping: Object.fromEntries(entries) } };
}

/** An own description goes before what the name means there; a reference brings its component's along. */
function described(location: string, name: string, schema: Json): Json {
  if (schema['description'] !== undefined || schema['$ref'] !== undefined) return schema;
  const [only, ...others] = Array.isArray(schema['enum']) ? schema['enum'] : [];
  const meaning = meaningOf(location, name) ?? (typeof only === 'string' && others.length === 0 ? `Always \`${only}\`` : undefined);
  return meaning === undefined ? schema : { ...schema, description: meaning };
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

/** Returns the name of a schema's component; null if it is inline. */
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

/** Rules between fields, which would be read as forms of the whole: by people in its page, and by generators of types. */
const combinations = new Set(['oneOf', 'anyOf', 'allOf', 'not', 'if', 'then', 'else']);

/** A stated rule in the document: bounds of a value beside its other keywords, rules between fields as the extension `x-constraints`, in JSON Schema. */
function statedKeywords(stated: Json): Json {
  const [rules, bounds] = [true, false].map((isRule) =>
    Object.fromEntries(Object.entries(stated).filter(([keyword]) => combinations.has(keyword) === isRule)),
  ) as [Json, Json]; // one for each
  return Object.keys(rules).length === 0 ? bounds : { ...bounds, 'x-constraints': rules };
}
