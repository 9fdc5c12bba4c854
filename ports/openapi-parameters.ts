import { cutText } from '../workflows/contracts/cut-text.ts';
import { isReservedHeader } from './egress.ts';
import { isObject, step, textOf, Unusable, type Document, type Json } from './openapi-document.ts';
import type { SchemaReader } from './openapi-schema.ts';

/** A parameter of an operation as a model sends it, and where it goes in the request. */
export interface ReadParameter {
  /** Its name among the arguments: letters, digits and `_` only, so that templates can say it. */
  readonly argument: string;
  readonly isRequired: boolean;
  readonly schema: unknown;
  readonly place: Placement;
}

/** `query` is one value; `suffix` a piece of template that writes pairs into the URL, each with a leading `&`. */
export type Placement =
  | { readonly in: 'path'; readonly name: string; readonly template: string }
  | { readonly in: 'query' | 'header'; readonly name: string; readonly template: string }
  | { readonly in: 'suffix'; readonly template: string };

interface Declared {
  readonly node: Json;
  readonly pointer: string;
  readonly name: string;
  readonly in: string;
}

/** By OpenAPI 3.0 and 3.1 these headers are not described as parameters and are ignored where they are. */
const ignoredHeaders = new Set(['accept', 'content-type', 'authorization']);
const separators: Readonly<Record<string, string>> = { form: ',', spaceDelimited: '%20', pipeDelimited: '%7C' };
const simpleName = /^[A-Za-z_]\w*$/;
/** An absent `size` is a count in Liquid. */
const reservedNames = new Set(['__proto__', 'size']);

/**
 * The parameters of an operation; those of its path that it doesn't name anew included. Throws Unusable for a required one that no request of
 * ours can carry (cookies, matrix and label styles, nested objects); optional ones of that sort are left out.
 */
export function readParameters(
  document: Document,
  schemas: SchemaReader,
  { item, operation }: { readonly item: { node: Json; pointer: string }; readonly operation: { node: Json; pointer: string } },
): ReadParameter[] {
  const declared = new Map<string, Declared>();
  for (const holder of [item, operation]) {
    for (const parameter of declaredIn(document, holder)) declared.set(`${parameter.in} ${parameter.name}`, parameter);
  }
  const taken = new Set<string>();
  return [...declared.values()].flatMap((parameter) => {
    if (parameter.in === 'header' && ignoredHeaders.has(parameter.name.toLowerCase())) return [];
    const argument = argumentName(parameter.name, taken);
    const isRequired = parameter.in === 'path' || parameter.node['required'] === true;
    const place = placementOf(document, parameter, argument);
    if (place === null) {
      if (isRequired) throw new Unusable(parameter.pointer, 'unsupported', 'a required parameter is of a sort that no tool can send');
      return [];
    }
    taken.add(argument);
    return [{ argument, isRequired, schema: schemaOf(schemas, parameter), place }];
  });
}

/** A name that templates can say and that no other argument has. */
export function argumentName(name: string, taken: ReadonlySet<string>): string {
  const plain = name.replaceAll(/\W/g, '_').slice(0, 60);
  const base = simpleName.test(plain) && !reservedNames.has(plain) ? plain : `p_${plain}`;
  let free = base;
  for (let count = 2; taken.has(free); count++) free = `${base}_${count}`;
  return free;
}

/** The type that a schema names first, null aside; '' when it names none. */
export function typeOf(schema: Json): string {
  const type = schema['type'];
  const first: unknown = Array.isArray(type) ? type.find((name) => name !== 'null') : type;
  if (typeof first === 'string') return first;
  return isObject(schema['properties']) ? 'object' : '';
}

function declaredIn(document: Document, { node, pointer }: { readonly node: Json; readonly pointer: string }): Declared[] {
  const list = node['parameters'];
  if (!Array.isArray(list)) return [];
  return list.map((entry, index) => {
    const found = document.resolve(entry, `${pointer}/parameters${step(index)}`);
    const [name, place] = [found.node['name'], found.node['in']];
    if (typeof name !== 'string' || name === '' || typeof place !== 'string')
      throw new Unusable(found.pointer, 'required', 'a parameter needs a name and a place');
    return { ...found, name, in: place };
  });
}

function schemaOf(schemas: SchemaReader, { node, pointer }: Declared): unknown {
  const json = jsonContent(node);
  const read = json ? schemas.read(json['schema'] ?? {}, `${pointer}/content`) : schemas.read(node['schema'] ?? {}, `${pointer}/schema`);
  const description = cutText(textOf(node['description']) ?? '', 1_000);
  return description === '' || !isObject(read) ? read : { ...read, description };
}

function jsonContent(node: Json): Json | null {
  const content = node['content'];
  const json = isObject(content) ? content['application/json'] : null;
  return isObject(json) ? json : null;
}

function placementOf(document: Document, parameter: Declared, argument: string): Placement | null {
  const { node, name } = parameter;
  const value = `{{ args.${argument} }}`;
  const isPlain = node['content'] === undefined;
  if (!isPlain) {
    if (jsonContent(node) === null || (parameter.in !== 'query' && parameter.in !== 'header')) return null;
    return sendable(parameter.in, name, `{% if args.${argument} != nil %}{{ args.${argument} | json }}{% endif %}`);
  }
  const schema = isObject(node['schema']) ? document.resolve(node['schema'], `${parameter.pointer}/schema`).node : {};
  const type = typeOf(schema);
  switch (parameter.in) {
    case 'path':
      if ((node['style'] ?? 'simple') !== 'simple' || type === 'object') return null;
      return { in: 'path', name, template: type === 'array' ? `{{ args.${argument} | join: "," }}` : value };
    case 'header':
      if (type === 'object') return null;
      return sendable('header', name, type === 'array' ? `{{ args.${argument} | join: "," }}` : value);
    case 'query':
      if (type === 'array') return arrayPlacement(parameter, argument);
      return type === 'object' ? objectPlacement(parameter, argument, schema) : { in: 'query', name, template: value };
    default:
      return null;
  }
}

function sendable(place: 'query' | 'header', name: string, template: string): Placement | null {
  const isSendable = place === 'query' || (/^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/.test(name) && !isReservedHeader(name));
  return isSendable ? { in: place, name, template } : null;
}

function arrayPlacement({ node, name }: Declared, argument: string): Placement | null {
  const style = String(node['style'] ?? 'form');
  const separator = separators[style];
  if (separator === undefined) return null;
  const key = queryName(name);
  if (node['explode'] ?? style === 'form') return { in: 'suffix', template: `{% for v in args.${argument} %}&${key}={{ v }}{% endfor %}` };
  return { in: 'suffix', template: `{% if args.${argument}.size > 0 %}&${key}={{ args.${argument} | join: "${separator}" }}{% endif %}` };
}

/** Objects go field by field: as `name[field]` (deepObject) or as fields of the query (form). */
function objectPlacement({ node, name }: Declared, argument: string, schema: Json): Placement | null {
  const style = node['style'] ?? 'form';
  const isDeep = style === 'deepObject';
  if (!isDeep && (style !== 'form' || node['explode'] === false)) return null;
  const fields = isObject(schema['properties']) ? Object.keys(schema['properties']) : [];
  if (fields.length === 0 || fields.length > 50 || fields.some((field) => !simpleName.test(field))) return null;
  const pieces = fields.map((field) => {
    const path = `args.${argument}.${field}`;
    const key = isDeep ? `${queryName(name)}[${field}]` : field;
    if (reservedNames.has(field))
      return `{% for pair in args.${argument} %}{% if pair[0] == "${field}" %}&${key}={{ pair[1] }}{% endif %}{% endfor %}`;
    return `{% if ${path} != nil %}&${key}={{ ${path} }}{% endif %}`;
  });
  return { in: 'suffix', template: pieces.join('') };
}

/** Also no brace and no percent sign is left that a template could read. */
function queryName(name: string): string {
  return encodeURIComponent(name.toWellFormed());
}
