import { isObject, step, Unusable, type Document, type Json } from './openapi-document.ts';

/** Brings schemas of a document into JSON Schema 2020-12; what they refer to is gathered and given as `$defs`. */
export interface SchemaReader {
  /** Throws Unusable. */
  read(schema: unknown, pointer: string): unknown;
  /** Everything that was referred to until now; empty when nothing was. */
  defs(): Record<string, unknown>;
}

/** Direction in which a value goes: fields that are of the other one are left out. */
export type Direction = 'request' | 'response';

const limitDepth = 64;
const limitNodes = 20_000;
/** Of what a schema holds as a value: defaults, choices. */
const limitValueDepth = 16;

const schemaKeywords = new Set([
  'items',
  'additionalProperties',
  'not',
  'if',
  'then',
  'else',
  'contains',
  'propertyNames',
  'unevaluatedProperties',
  'unevaluatedItems',
]);
const listKeywords = new Set(['allOf', 'anyOf', 'oneOf', 'prefixItems']);
const mapKeywords = new Set(['properties', 'patternProperties', 'dependentSchemas']);
/** Says nothing about a value, or is brought along by its reference. */
const dropped = new Set([
  'example',
  'examples',
  'xml',
  'externalDocs',
  'discriminator',
  'nullable',
  'readOnly',
  'writeOnly',
  'deprecated',
  '$schema',
  '$comment',
  '$defs',
  'definitions',
]);

export function createSchemaReader(document: Document, direction: Direction): SchemaReader {
  const names = new Map<string, string>();
  const read = new Map<string, unknown>();
  const open: { name: string; node: unknown; pointer: string }[] = [];
  let nodes = 0;

  function nameOf(pointer: string, node: unknown): string {
    const known = names.get(pointer);
    if (known !== undefined) return known;
    const base = (pointer.split('/').at(-1) ?? '').replaceAll(/[^A-Za-z0-9_.-]/g, '_').slice(0, 60) || 'schema';
    const used = new Set(names.values());
    let name = base;
    for (let count = 2; used.has(name) || name === '__proto__'; count++) name = `${base}_${count}`;
    names.set(pointer, name);
    open.push({ name, node, pointer });
    return name;
  }

  function convert(node: unknown, pointer: string, depth: number): unknown {
    if (++nodes > limitNodes || depth > limitDepth) throw new Unusable(pointer, 'too_large', 'the schema is too large or too deep');
    if (typeof node === 'boolean') return node;
    if (!isObject(node)) throw new Unusable(pointer, 'type', 'must be a schema');
    const reference = node['$ref'];
    if (typeof reference !== 'string') return withNull(convertKeywords(node, pointer, depth), node);

    const target = document.target(reference, pointer);
    const made = { $ref: `#/$defs/${nameOf(target.pointer, target.node)}` };
    // In 3.0 whatever stands beside a reference is ignored.
    return document.isVersion30 ? made : { ...convertKeywords(node, pointer, depth), ...made };
  }

  function convertKeywords(node: Json, pointer: string, depth: number): Record<string, unknown> {
    const made: [string, unknown][] = [];
    for (const [keyword, value] of Object.entries(node)) {
      if (dropped.has(keyword) || keyword === '$ref' || keyword.startsWith('x-')) continue;
      const place = pointer + step(keyword);
      if (schemaKeywords.has(keyword)) made.push([keyword, convert(value, place, depth + 1)]);
      else if (listKeywords.has(keyword) && Array.isArray(value))
        made.push([keyword, value.map((item, index) => convert(item, place + step(index), depth + 1))]);
      else if (mapKeywords.has(keyword) && isObject(value)) made.push([keyword, convertMap(value, place, depth)]);
      else if (keyword === 'required') made.push([keyword, requiredOf(node, value)]);
      else if (isShallow(value, limitValueDepth)) made.push([keyword, value]);
      else throw new Unusable(place, 'too_large', 'the value is too deep');
    }
    return bounded(Object.fromEntries(made));
  }

  function convertMap(map: Json, pointer: string, depth: number): Record<string, unknown> {
    const kept = Object.entries(map).filter(([, value]) => !isOfOtherWay(value));
    return Object.fromEntries(kept.map(([name, value]) => [name, convert(value, pointer + step(name), depth + 1)]));
  }

  function requiredOf(node: Json, required: unknown): unknown {
    const properties = node['properties'];
    if (!Array.isArray(required)) return [];
    return isObject(properties)
      ? required.filter((name) => !isOfOtherWay(Object.hasOwn(properties, name) ? properties[name] : null))
      : required;
  }

  function isOfOtherWay(schema: unknown): boolean {
    return isObject(schema) && schema[direction === 'request' ? 'readOnly' : 'writeOnly'] === true;
  }

  /** Exclusive bounds are flags in 3.0 and numbers since. */
  function bounded(schema: Record<string, unknown>): Record<string, unknown> {
    if (!document.isVersion30) return schema;
    for (const [flag, bound] of [['exclusiveMinimum', 'minimum'] as const, ['exclusiveMaximum', 'maximum'] as const]) {
      if (typeof schema[flag] !== 'boolean') continue;
      if (schema[flag] && typeof schema[bound] === 'number') {
        schema[flag] = schema[bound];
        delete schema[bound];
      } else delete schema[flag];
    }
    return schema;
  }

  function withNull(schema: Record<string, unknown>, node: Json): Record<string, unknown> {
    if (!document.isVersion30 || node['nullable'] !== true) return schema;
    if (typeof schema['type'] !== 'string') return { anyOf: [schema, { type: 'null' }] };
    const choices = schema['enum'];
    const withChoice = Array.isArray(choices) && !choices.includes(null) ? { enum: [...choices, null] } : {};
    return { ...schema, type: [schema['type'], 'null'], ...withChoice };
  }

  return {
    read: (schema, pointer) => convert(schema, pointer, 0),
    defs() {
      for (let next = open.shift(); next !== undefined; next = open.shift()) read.set(next.name, convert(next.node, next.pointer, 0));
      return Object.fromEntries(read);
    },
  };
}

function isShallow(value: unknown, levels: number): boolean {
  if (value === null || typeof value !== 'object') return true;
  return levels > 0 && Object.values(value).every((inner) => isShallow(inner, levels - 1));
}
