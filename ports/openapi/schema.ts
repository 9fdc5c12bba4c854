import { isObject, step, Unusable, type Document, type Json } from './document.ts';

/** Converts schemas of a document to JSON Schema 2020-12; their referenced schemas are collected and returned as `$defs`. */
export interface SchemaReader {
  /** Returns `{}`, which means anything, for a schema that can't be read. */
  read(schema: unknown, pointer: string): unknown;
  /** Returns every schema that has been referenced so far; empty when there is none. */
  defs(): Record<string, unknown>;
}

/** Direction of a value: fields of the other direction are left out. */
export type Direction = 'request' | 'response';

/** How much of a schema is kept: it only informs and checks, so one that is too large for a tool is given in less detail. */
export interface Detail {
  /** All keywords; only those that describe a value's structure; or those without any text except the topmost. */
  readonly keywords: 'all' | 'shape' | 'bare';
  /** Levels of schemas, references followed; everything below means anything. */
  readonly levels: number;
}

export const fullDetail: Detail = { keywords: 'all', levels: 64 };

/**
 * From full detail downwards. Every operation that can be sent is described in one of them, in the last one with hardly more than the names of its arguments.
 */
export const details: readonly Detail[] = [
  fullDetail,
  { keywords: 'shape', levels: 64 },
  { keywords: 'bare', levels: 16 },
  ...[8, 6, 5, 4, 3, 2, 1, 0].map((levels): Detail => ({ keywords: 'bare', levels })),
];

export interface ReaderOptions {
  readonly direction: Direction;
  readonly detail?: Detail;
  /** Binary strings stand for files that a model passes. */
  readonly sendsFiles?: boolean;
}

/** A file as a model passes it. */
export const fileSchema = {
  type: 'object',
  description: 'A file: its text, or its bytes in base64',
  properties: {
    text: { type: 'string' },
    base64: { type: 'string' },
    filename: { type: 'string', maxLength: 255 },
    media_type: { type: 'string', maxLength: 200 },
  },
  additionalProperties: false,
} as const;

const maxNodes = 20_000;
/** Depth of the values in a schema: defaults, choices. */
const maxValueDepth = 16;

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
/** Keywords that say nothing about a value, or that come with its reference. */
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

/** Keywords that describe a value's structure, and which values there are; all others only narrow it. */
const shapeKeywords = new Set([
  'type',
  'enum',
  'const',
  'title',
  'description',
  'properties',
  'required',
  'items',
  'prefixItems',
  'additionalProperties',
  'allOf',
  'anyOf',
  'oneOf',
]);
const types: readonly unknown[] = ['object', 'array', 'string', 'number', 'integer', 'boolean', 'null'];

/** Whether a string stands for bytes: `format: binary` in 3.0, a media type without an encoding in 3.1 (§4.8.14.1 and 4.8.24.2). */
export function isBinary(schema: Json): boolean {
  if (schema['contentEncoding'] !== undefined) return false;
  return schema['format'] === 'binary' || schema['type'] === 'file' || typeof schema['contentMediaType'] === 'string';
}

export function createSchemaReader(
  document: Document,
  { direction, detail = fullDetail, sendsFiles = false }: ReaderOptions,
): SchemaReader {
  const names = new Map<string, string>();
  const read = new Map<string, unknown>();
  const open: { name: string; node: unknown; pointer: string; depth: number }[] = [];
  const isFull = detail.keywords === 'all';
  const used = new Set<string>();
  let nodes = 0;
  let values = 0;

  function nameOf(pointer: string, node: unknown, depth: number): string {
    const known = names.get(pointer);
    if (known !== undefined) return known;
    const base = (pointer.split('/').at(-1) ?? '').replaceAll(/[^A-Za-z0-9_.-]/g, '_').slice(0, 60) || 'schema';
    let name = base;
    for (let count = 2; used.has(name) || name === '__proto__'; count++) name = `${base}_${count}`;
    names.set(pointer, name);
    used.add(name);
    open.push({ name, node, pointer, depth });
    return name;
  }

  function convert(node: unknown, pointer: string, depth: number): unknown {
    if (++nodes > maxNodes) throw new Unusable(pointer, 'too_large', 'the schema is too large');
    if (!isObject(node)) return typeof node === 'boolean' ? node : {};
    if (depth > detail.levels) return hintOf(node);
    if (sendsFiles && isBinary(node)) return fileSchema;
    const reference = node['$ref'];
    if (typeof reference !== 'string') return withNull(convertKeywords(node, pointer, depth), node);

    const made = referenceOf(reference, pointer, depth);
    // In 3.0, everything beside a reference is ignored.
    return document.isVersion30 ? made : { ...convertKeywords(node, pointer, depth), ...made };
  }

  function referenceOf(reference: string, pointer: string, depth: number): Record<string, unknown> {
    try {
      const target = document.target(reference, pointer);
      return { $ref: `#/$defs/${nameOf(target.pointer, target.node, depth)}` };
    } catch (error) {
      if (error instanceof Unusable) return {}; // it leads to another file, or nowhere
      throw error;
    }
  }

  /** Returns what is kept below the last level: at most its type. */
  function hintOf(node: Json): Record<string, unknown> {
    const { type } = node;
    return typeof type === 'string' && types.includes(type) && node['nullable'] !== true && !(sendsFiles && isBinary(node)) ? { type } : {};
  }

  function convertKeywords(node: Json, pointer: string, depth: number): Record<string, unknown> {
    const made: [string, unknown][] = [];
    for (const [keyword, value] of Object.entries(node)) {
      if (dropped.has(keyword) || keyword === '$ref' || keyword.startsWith('x-')) continue;
      if (!isFull && !shapeKeywords.has(keyword)) continue;
      if (detail.keywords === 'bare' && depth > 1 && (keyword === 'description' || keyword === 'title')) continue;
      const told = keywordOf(node, keyword, { value, pointer: pointer + step(keyword), depth });
      if (told !== undefined) made.push([told.keyword, told.value]);
    }
    return bounded(Object.fromEntries(made));
  }

  interface Keyword {
    readonly value: unknown;
    readonly pointer: string;
    readonly depth: number;
  }

  /** Converts one keyword to 2020-12; returns undefined for what no validator can read. */
  function keywordOf(node: Json, keyword: string, { value, pointer, depth }: Keyword): { keyword: string; value: unknown } | undefined {
    // In less detail, several forms may fit one value; and a name that only a pattern allows is not refused.
    const name = keyword === 'oneOf' && !isFull ? 'anyOf' : keyword;
    if (keyword === 'additionalProperties' && value === false && !isFull && node['patternProperties'] !== undefined) return undefined;
    if (schemaKeywords.has(keyword)) return { keyword, value: convert(value, pointer, depth + 1) };
    if (listKeywords.has(keyword)) {
      if (!Array.isArray(value) || value.length === 0 || (name !== keyword && node[name] !== undefined)) return undefined;
      return { keyword: name, value: value.map((item, index) => convert(item, pointer + step(index), depth + 1)) };
    }
    if (mapKeywords.has(keyword)) return isObject(value) ? { keyword, value: convertMap(value, pointer, depth) } : undefined;
    if (keyword === 'required') return { keyword, value: requiredOf(node, value) };
    if (keyword === 'type') return typeKeyword(value);
    if (keyword === 'enum' && (!Array.isArray(value) || value.length === 0)) return undefined;
    if ((keyword === 'description' || keyword === 'title') && typeof value !== 'string') return undefined;
    return isCopyable(value, maxValueDepth) ? { keyword, value } : undefined;
  }

  function convertMap(map: Json, pointer: string, depth: number): Record<string, unknown> {
    const kept = Object.entries(map).filter(([, value]) => !isOfOtherWay(value));
    return Object.fromEntries(kept.map(([name, value]) => [name, convert(value, pointer + step(name), depth + 1)]));
  }

  function requiredOf(node: Json, required: unknown): string[] {
    const properties = node['properties'];
    const listed = Array.isArray(required) ? [...new Set(required.filter((name) => typeof name === 'string'))] : [];
    if (!isObject(properties)) return listed;
    return listed.filter((name) => !isOfOtherWay(Object.hasOwn(properties, name) ? properties[name] : null));
  }

  /** Whether a value may be copied as it is: what YAML aliases multiply is counted as often as it appears. */
  function isCopyable(value: unknown, levels: number): boolean {
    values += 1 + (typeof value === 'string' ? value.length / 64 : 0);
    if (values > maxNodes) return false;
    if (value === null || typeof value !== 'object') return true;
    return levels > 0 && Object.values(value).every((inner) => isCopyable(inner, levels - 1));
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
      for (let next = open.shift(); next !== undefined; next = open.shift())
        read.set(next.name, convert(next.node, next.pointer, next.depth + 1));
      return Object.fromEntries(read);
    },
  };
}

function typeKeyword(value: unknown): { keyword: 'type'; value: unknown } | undefined {
  if (types.includes(value)) return { keyword: 'type', value };
  const known = Array.isArray(value) ? [...new Set(value.filter((type) => types.includes(type)))] : [];
  return known.length === 0 ? undefined : { keyword: 'type', value: known };
}
