import type { TSchema } from 'typebox';
import { normalForms } from './formats.ts';

type Json = Record<string, unknown>;

const annotations = new Set(['$id', 'description', 'title', 'example', 'examples', 'deprecated', 'x-stated']);

/**
 * A schema as the request validator wants it: components inlined without `$id` (one may stand in many schemas), annotations dropped, growing
 * sets closed for input, ids and instants marked for normalisation.
 */
export function forRequests(schema: TSchema): Json {
  // TypeBox schemas are plain JSON Schema objects, here read as such.
  return rewrite(schema as unknown as Json);
}

function rewrite(schema: Json): Json {
  const made: Json = {};
  for (const [keyword, value] of Object.entries(schema)) {
    if (annotations.has(keyword)) continue;
    if (keyword === 'x-extensible-enum') made['enum'] = value;
    else made[keyword] = rewriteKeyword(keyword, value);
  }
  if (typeof made['format'] === 'string' && made['format'] in normalForms) made['x-normal-form'] = made['format'];
  return made;
}

function rewriteKeyword(keyword: string, value: unknown): unknown {
  if (keyword === 'properties' || keyword === 'patternProperties' || keyword === '$defs') {
    return Object.fromEntries(Object.entries(asObject(value)).map(([name, child]) => [name, rewrite(asObject(child))]));
  }
  if (keyword === 'default' || keyword === 'enum' || keyword === 'const') return value;
  if (Array.isArray(value)) return value.map((item: unknown) => (isObject(item) ? rewrite(item) : item));
  return isObject(value) && !keyword.startsWith('x-') && keyword !== 'discriminator' ? rewrite(value) : value;
}

function asObject(value: unknown): Json {
  return isObject(value) ? value : {};
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
