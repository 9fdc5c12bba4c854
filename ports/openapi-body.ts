import { isObject, step, Unusable, type Document, type Json } from './openapi-document.ts';
import { argumentName, typeOf } from './openapi-parameters.ts';
import type { OpenApiOperation } from './openapi-reader.ts';
import type { SchemaReader } from './openapi-schema.ts';

type Body = OpenApiOperation['request']['body'];

/** The body of an operation: the argument that holds it, and how it is sent. */
export interface ReadBody {
  readonly argument: string;
  readonly schema: unknown;
  readonly contentType: string | null;
  readonly body: Body;
}

const jsonType = /^application\/(?:[\w.-]+\+)?json(?:\s*;.*)?$/i;

/**
 * What an operation sends beside its parameters: JSON as it stands, a flat form field by field, or a text. Null when it sends nothing, or an
 * optional body of another sort. Throws Unusable for a required one of another sort.
 */
export function readBody(
  document: Document,
  schemas: SchemaReader,
  { operation, taken }: { readonly operation: { node: Json; pointer: string }; readonly taken: ReadonlySet<string> },
): ReadBody | null {
  const declared = operation.node['requestBody'];
  if (declared === undefined) return null;
  const { node, pointer } = document.resolve(declared, `${operation.pointer}/requestBody`);
  const content = isObject(node['content']) ? node['content'] : {};
  const argument = argumentName('body', taken);
  for (const [mediaType, described] of byPreference(content)) {
    const media = isObject(described) ? described : {};
    const place = `${pointer}/content${step(mediaType)}/schema`;
    const made = bodyOf(document, { mediaType, schema: media['schema'] ?? {}, place, argument });
    if (made) return { argument, schema: schemas.read(media['schema'] ?? {}, place), ...made };
  }
  if (node['required'] === true) throw new Unusable(pointer, 'unsupported', 'the body is of a media type that no tool can send');
  return null;
}

/** The first JSON type before forms before texts. */
function byPreference(content: Json): [string, unknown][] {
  const rank = (type: string) => (jsonType.test(type) ? 0 : type.startsWith('application/x-www-form-urlencoded') ? 1 : 2);
  return Object.entries(content).toSorted(([left], [right]) => rank(left) - rank(right));
}

interface Media {
  readonly mediaType: string;
  readonly schema: unknown;
  readonly place: string;
  readonly argument: string;
}

function bodyOf(document: Document, { mediaType, schema, place, argument }: Media): Pick<ReadBody, 'contentType' | 'body'> | null {
  const type = mediaType.toLowerCase();
  const value = `{{ args.${argument} }}`;
  if (jsonType.test(type)) {
    const isPlain = type.startsWith('application/json');
    return { contentType: isPlain ? null : type, body: { mode: 'json', template: value } };
  }
  if (type.startsWith('text/') && !type.includes('*'))
    return { contentType: type.startsWith('text/plain') ? null : type, body: { mode: 'raw', template: value } };
  if (!type.startsWith('application/x-www-form-urlencoded')) return null;

  const form = isObject(schema) ? document.resolve(schema, place).node : {};
  const fields = isObject(form['properties']) ? Object.entries(form['properties']) : [];
  const required = Array.isArray(form['required']) ? form['required'] : [];
  // An absent `size` is a count in Liquid.
  const isSayable = (name: string) => /^[A-Za-z_]\w*$/.test(name) && (name !== 'size' || required.includes(name));
  const isFlat = fields.every(([name, field]) => isSayable(name) && isScalar(document, field, place));
  if (fields.length === 0 || fields.length > 200 || !isFlat) return null;
  const template = Object.fromEntries(fields.map(([name]) => [name, `{{ args.${argument}.${name} }}`]));
  return { contentType: null, body: { mode: 'form', template } };
}

function isScalar(document: Document, schema: unknown, place: string): boolean {
  if (!isObject(schema)) return true;
  const type = typeOf(document.resolve(schema, place).node);
  return type !== 'object' && type !== 'array';
}
