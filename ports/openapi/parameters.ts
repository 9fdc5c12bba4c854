import type { HttpParameter, ParameterLocation, ParameterStyle } from '../../workflows/contracts/tools/http-parameters.ts';
import { truncateText } from '../../workflows/contracts/truncate-text.ts';
import { isReservedHeader } from '../egress/url.ts';
import { isObject, step, textOf, Unusable, type Document, type Json } from './document.ts';
import type { SchemaReader } from './schema.ts';

/** A parameter of an operation as a model sends it, and its location in the request. */
export interface ReadParameter {
  readonly isRequired: boolean;
  readonly schema: unknown;
  /** Its argument name consists only of letters, digits and `_`. */
  readonly sent: HttpParameter;
}

interface Declared {
  readonly node: Json;
  readonly pointer: string;
  readonly name: string;
  readonly in: string;
}

/** An operation with its item of `paths`. */
export interface PlacedOperation {
  readonly path: string;
  readonly item: { readonly node: Json; readonly pointer: string };
  readonly operation: { readonly node: Json; readonly pointer: string };
}

/** By OpenAPI 3.0 and 3.1 (§4.8.12) these headers must not be described as parameters and are ignored where they are. */
const ignoredHeaders: readonly string[] = ['accept', 'content-type', 'authorization'];
/** The styles of each location, the default first (OpenAPI 3.1 §4.8.12.2). */
const stylesOf: Readonly<Record<ParameterLocation, readonly ParameterStyle[]>> = {
  path: ['simple', 'label', 'matrix'],
  query: ['form', 'spaceDelimited', 'pipeDelimited', 'deepObject'],
  header: ['simple'],
  cookie: ['form'],
};
const simpleName = /^[A-Za-z_]\w*$/;

/**
 * Returns the parameters of an operation, including those of its path item that it doesn't override, and those that only the path's braces name. Parameters
 * that the HTTP client sets itself are left out, and so are optional ones that no request can carry. Throws Unusable for a required one.
 */
export function readParameters(document: Document, schemas: SchemaReader, { path, item, operation }: PlacedOperation): ReadParameter[] {
  const declared = new Map<string, Declared>();
  for (const holder of [item, operation]) {
    for (const parameter of declaredIn(document, holder)) declared.set(`${parameter.in} ${parameter.name}`, parameter);
  }
  const inPath = new Set(pathNames(path));
  for (const name of inPath) {
    const undescribed = { node: { schema: { type: 'string' } }, pointer: operation.pointer, name, in: 'path' };
    if (!declared.has(`path ${name}`)) declared.set(`path ${name}`, undescribed);
  }
  const taken = new Set<string>();
  return [...declared.values()].flatMap((parameter) => {
    if (parameter.in === 'path' && !inPath.has(parameter.name)) return [];
    if (parameter.in === 'header' && isOfClient(parameter.name)) return [];
    const isRequired = parameter.in === 'path' || parameter.node['required'] === true;
    const form = formOf(parameter);
    if (form === null) {
      if (isRequired) throw new Unusable(parameter.pointer, 'unsupported', 'a required parameter is of a sort that no tool can send');
      return [];
    }
    const argument = argumentName(parameter.name, taken);
    taken.add(argument);
    return [{ isRequired, schema: schemaOf(schemas, parameter), sent: { argument, ...form } }];
  });
}

/** Returns the names in the braces of a path. */
export function pathNames(path: string): string[] {
  return [...path.matchAll(/\{([^{}]*)\}/g)].map(([, name = '']) => name);
}

/** Returns a name that no other argument has, of letters, digits and `_`. */
export function argumentName(name: string, taken: ReadonlySet<string>): string {
  const plain = name.replaceAll(/\W/g, '_').slice(0, 60);
  const base = simpleName.test(plain) && plain !== '__proto__' ? plain : `p_${plain}`;
  let free = base;
  for (let count = 2; taken.has(free); count++) free = `${base}_${count}`;
  return free;
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

function isOfClient(name: string): boolean {
  return ignoredHeaders.includes(name.toLowerCase()) || isReservedHeader(name);
}

function schemaOf(schemas: SchemaReader, { node, pointer }: Declared): unknown {
  const [content] = contentsOf(node);
  const place = content ? `${pointer}/content${step(content[0])}/schema` : `${pointer}/schema`;
  const read = schemas.read((content ? content[1]['schema'] : node['schema']) ?? {}, place);
  const description = truncateText(textOf(node['description']) ?? '', 1_000);
  return description === '' || !isObject(read) ? read : { ...read, description };
}

/** A parameter's `content` has one entry, which replaces its schema and style. */
function contentsOf(node: Json): [string, Json][] {
  return isObject(node['content'])
    ? Object.entries(node['content']).map(([type, media]): [string, Json] => [type, isObject(media) ? media : {}])
    : [];
}

/**
 * Returns where the parameter goes and how it is written; null for a location or header that no tool can send. A style that is not valid at its location
 * becomes the default.
 */
function formOf({ node, name, in: place }: Declared): Omit<HttpParameter, 'argument'> | null {
  if (!isPlace(place) || (place === 'header' && !/^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/.test(name))) return null;
  const plainName = name.toWellFormed();
  const [content] = contentsOf(node);
  if (content) return { in: place, name: plainName, contentType: content[0] };

  const styles = stylesOf[place];
  const style = styles.find((known) => known === node['style']) ?? styles[0] ?? 'form';
  const explode = typeof node['explode'] === 'boolean' ? node['explode'] : style === 'form' || style === 'deepObject';
  return { in: place, name: plainName, style, explode, ...(node['allowReserved'] === true ? { allowReserved: true } : {}) };
}

function isPlace(place: string): place is ParameterLocation {
  return Object.hasOwn(stylesOf, place);
}
