import type {
  HttpParameter,
  ParameterForm,
  ParameterLocation,
  ParameterStyle,
} from '../../../workflows/contracts/tools/http-parameters.ts';

/** A value that has no valid form at its location; the message is for the model, and names the argument. */
export class Unsendable extends Error {
  override readonly name = 'Unsendable';
}

/** A pair of a query, form or cookie, both sides percent-encoded. */
export type Pair = readonly [name: string, value: string];

/** The default style of each parameter location. */
const defaultStyles = { path: 'simple', header: 'simple', query: 'form', cookie: 'form' } as const satisfies Record<
  ParameterLocation,
  ParameterStyle
>;

/**
 * Returns the text of a parameter in the path: simple, label or matrix (OpenAPI 3.1 §4.8.12; RFC 6570 §3.2.2, 3.2.5 and 3.2.7, whose dots and commas OpenAPI
 * 3.1.1 has adopted). No value leaves its segment. Throws Unsendable, also for a value without any text.
 */
export function pathText(parameter: HttpParameter, value: unknown): string {
  const { argument, explode = false } = parameter;
  if (parameter.contentType !== undefined) return filled(argument, encode(contentText(argument, parameter.contentType, value)));
  const style = parameter.style ?? defaultStyles.path;
  const members = membersOf(argument, value);
  const name = encode(parameter.name);
  if (members.kind === 'scalar') {
    const text = filled(argument, encode(members.text));
    return style === 'label' ? `.${text}` : style === 'matrix' ? `;${name}=${text}` : text;
  }
  if (members.pairs.length === 0) throw new Unsendable(`${argument} must hold something: it is a part of the path`);
  const written = members.pairs.map(([key, text]): Pair => [encode(key), encode(text)]);
  const named = explode && members.kind === 'object' ? written.map(([key, text]) => `${key}=${text}`) : null;
  const listed = written.flatMap(([key, text]) => (members.kind === 'object' ? [key, text] : [text]));
  switch (style) {
    case 'label':
      return `.${(named ?? listed).join(explode ? '.' : ',')}`;
    case 'matrix':
      if (!explode) return `;${name}=${listed.join(',')}`;
      return `;${(named ?? listed.map((text) => `${name}=${text}`)).join(';')}`;
    default:
      return filled(argument, (named ?? listed).join(','));
  }
}

/** Returns the value of a header in style simple, unencoded, since HTTP decodes nothing in it. Null: not sent. Throws Unsendable. */
export function headerText(parameter: HttpParameter, value: unknown): string | null {
  const { argument, explode = false } = parameter;
  if (isNothing(value)) return null;
  if (parameter.contentType !== undefined) return contentText(argument, parameter.contentType, value);
  const members = membersOf(argument, value);
  if (members.kind === 'scalar') return members.text;
  if (members.pairs.flat().some((text) => text.includes(',')))
    throw new Unsendable(`${argument} is a list in a header: none of its members may hold a comma`);
  if (members.pairs.length === 0) return null;
  const texts = members.pairs.map(([key, text]) => (members.kind === 'list' ? text : explode ? `${key}=${text}` : `${key},${text}`));
  return texts.join(',');
}

/**
 * Returns the pairs of a query parameter: form, spaceDelimited, pipeDelimited or deepObject, the last to any depth (`a[b][0]=c`). An absent or null value, an
 * empty list and an empty object yield none. Throws Unsendable.
 */
export function queryPairs(parameter: HttpParameter, value: unknown): Pair[] {
  return pairsOf(parameter.argument, parameter.name, value, parameter);
}

/** Returns the pairs of a cookie parameter, which has style form: each pair becomes a cookie. Throws Unsendable. */
export function cookiePairs(parameter: HttpParameter, value: unknown): Pair[] {
  return pairsOf(parameter.argument, parameter.name, value, { ...parameter, style: 'form' });
}

/**
 * Returns the pairs of a form's field: by its style where it has one, otherwise a list member by member and an object as JSON (the default contentType of the
 * Encoding Object, OpenAPI 3.1 §4.8.15). Throws Unsendable.
 */
export function fieldPairs(name: string, value: unknown, form: ParameterForm): Pair[] {
  if (form.style !== undefined || form.explode !== undefined || form.contentType !== undefined) return pairsOf(name, name, value, form);
  const members = Array.isArray(value) ? value : [value];
  return members.filter((member) => !isNothing(member)).map((member): Pair => [encode(name), encode(textOrJson(member))]);
}

/** Returns a scalar as its text, any other value as JSON. */
export function textOrJson(value: unknown): string {
  return scalarText(value) ?? jsonText(value);
}

/** Returns a value as JSON. Its numbers are exact: calls with inexact numbers are refused earlier. */
export function jsonText(value: unknown): string {
  return JSON.stringify(value) ?? 'null';
}

/** Returns the text of a scalar; null for a list or an object. */
export function scalarText(value: unknown): string | null {
  switch (typeof value) {
    case 'string':
      return value;
    case 'number':
    case 'boolean':
      return String(value);
    default:
      return null;
  }
}

function pairsOf(argument: string, name: string, value: unknown, form: ParameterForm): Pair[] {
  if (isNothing(value)) return [];
  const write = form.allowReserved ? encodeButReserved : encode;
  if (form.contentType !== undefined) return [[encode(name), write(contentText(argument, form.contentType, value))]];
  const style = form.style ?? defaultStyles.query;
  if (style === 'deepObject') return deepPairs(name, value).map(([key, text]) => [encode(key), write(text)]);

  const members = membersOf(argument, value);
  if (members.kind === 'scalar') return [[encode(name), write(members.text)]];
  if (form.explode ?? style === 'form')
    return members.pairs.map(([key, text]) => [encode(members.kind === 'object' ? key : name), write(text)]);
  if (members.pairs.length === 0) return [];
  const listed = members.pairs.flatMap((pair) => (members.kind === 'object' ? pair : pair.slice(1)));
  return [[encode(name), listed.map(write).join(style === 'spaceDelimited' ? '%20' : style === 'pipeDelimited' ? '%7C' : ',')]];
}

function deepPairs(name: string, value: unknown): Pair[] {
  const text = scalarText(value);
  if (text !== null) return [[name, text]];
  if (value === null || typeof value !== 'object') return [];
  return Object.entries(value).flatMap(([key, inner]) => deepPairs(`${name}[${key}]`, inner));
}

type Members =
  | { readonly kind: 'scalar'; readonly text: string }
  /** The key of a list's member is empty. */
  | { readonly kind: 'list' | 'object'; readonly pairs: readonly Pair[] };

/** Returns the members by the value's own shape, whatever its schema says. Members that are null count as absent (RFC 6570 §2.3). */
function membersOf(argument: string, value: unknown): Members {
  if (isNothing(value)) throw new Unsendable(`${argument} must have a value`);
  const text = scalarText(value);
  if (text !== null) return { kind: 'scalar', text };
  const entries = Array.isArray(value) ? value.map((member: unknown) => ['', member] as const) : Object.entries(Object(value));
  const pairs = entries
    .filter(([, member]) => !isNothing(member))
    .map(([key, member]): Pair => {
      const inner = scalarText(member);
      if (inner === null)
        throw new Unsendable(`${argument} may hold texts, numbers and booleans only: lists and objects in it have no form there`);
      return [key, inner];
    });
  return { kind: Array.isArray(value) ? 'list' : 'object', pairs };
}

function contentText(argument: string, contentType: string, value: unknown): string {
  if (isJson(contentType)) return jsonText(value);
  const text = scalarText(value);
  if (text === null) throw new Unsendable(`${argument} is sent as ${contentType}: it must be a text`);
  return text;
}

/** Whether a media type is JSON or based on it (RFC 6839 §3.1). */
export function isJson(mediaType: string): boolean {
  return /^(?:application|text)\/(?:[\w.+-]+\+)?json(?:\s*;.*)?$/i.test(mediaType);
}

function filled(argument: string, text: string): string {
  if (text === '') throw new Unsendable(`${argument} must not be empty: it is a part of the path`);
  return text;
}

function isNothing(value: unknown): value is null | undefined {
  return value === null || value === undefined;
}

/** Percent-encodes everything except the unreserved characters of RFC 3986 §2.3. */
export function encode(text: string): string {
  return encodeURIComponent(text.toWellFormed()).replaceAll(/[!'()*]/g, (mark) => `%${mark.charCodeAt(0).toString(16).toUpperCase()}`);
}

/** Keeps reserved characters, except those that delimit parts of a query: `&`, `+`, `#`, brackets. */
function encodeButReserved(text: string): string {
  return encode(text).replaceAll(/%(?:3A|2F|3F|40|21|24|27|28|29|2A|2C|3B|3D)/g, decodeURIComponent);
}
