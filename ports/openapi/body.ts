import type { BodyMode, FieldForm, ParameterStyle } from '../../workflows/contracts/tools/http-parameters.ts';
import { parameterStyles } from '../../workflows/contracts/tools/http-parameters.ts';
import { isObject, step, Unusable, type Document, type Json } from './document.ts';
import { isBinary } from './schema.ts';

/** The body of an operation: how it is sent, and the schema of its one argument. */
export interface ReadBody {
  readonly isRequired: boolean;
  readonly mode: Exclude<BodyMode, 'none'>;
  /** Null: the default of the mode, or the type of the file that is sent. */
  readonly contentType: string | null;
  /** For a form or multipart body: the fields that are not written in the default way. */
  readonly fields: Readonly<Record<string, FieldForm>> | null;
  readonly schema: { readonly node: unknown; readonly pointer: string };
  /** Whether binary strings in the schema stand for files. */
  readonly sendsFiles: boolean;
}

interface Media {
  readonly type: string;
  readonly node: Json;
  readonly pointer: string;
}

const jsonType = /^(?:application|text)\/(?:[\w.-]+\+)?json(?:\s*;.*)?$/;
/** Types that are text without being named so; a model writes them as they are sent. */
const textType =
  /^(?:text\/.*|application\/(?:[\w.-]+\+)?(?:xml|yaml|x-yaml|x-ndjson|ndjson|jsonl|json-seq|graphql|sql|javascript|csv)(?:\s*;.*)?)$/;
const formType = /^application\/x-www-form-urlencoded(?:\s*;.*)?$/;
const multipartType = /^multipart\/(?:form-data|\*)(?:\s*;.*)?$/;

/**
 * Returns what an operation sends besides its parameters, in the first of its media types that fits: JSON as it is, a form or multipart body field by field, a
 * text, or the bytes of a file. Null when it sends nothing. Throws Unusable.
 */
export function readBody(document: Document, operation: { readonly node: Json; readonly pointer: string }): ReadBody | null {
  const declared = operation.node['requestBody'];
  if (declared === undefined) return null;
  const { node, pointer } = document.resolve(declared, `${operation.pointer}/requestBody`);
  const media = Object.entries(isObject(node['content']) ? node['content'] : {}).map(([type, described]): Media => ({
    type: type.toLowerCase().trim(),
    node: isObject(described) ? described : {},
    pointer: `${pointer}/content${step(type)}`,
  }));
  const isRequired = node['required'] === true;
  const [chosen] = media
    .filter(({ type }) => multipartType.test(type) || !type.startsWith('multipart/'))
    .toSorted((left, right) => rankOf(left.type) - rankOf(right.type));
  if (!chosen) {
    if (isRequired) throw new Unusable(pointer, 'unsupported', 'the body is of a media type that no tool can send');
    return null;
  }
  return { isRequired, ...describe(document, chosen), schema: { node: chosen.node['schema'] ?? {}, pointer: `${chosen.pointer}/schema` } };
}

/** JSON first, then forms, multipart, texts, and the bytes of files. */
function rankOf(type: string): number {
  const rank = [jsonType, formType, multipartType, textType].findIndex((known) => known.test(type));
  return rank === -1 ? (type === '*/*' || type === 'application/*' ? 0.5 : 4) : rank;
}

type Described = Omit<ReadBody, 'isRequired' | 'schema'>;

function describe(document: Document, media: Media): Described {
  const { type } = media;
  const plain = { contentType: null, fields: null, sendsFiles: false };
  if (jsonType.test(type)) return { ...plain, mode: 'json', contentType: type === 'application/json' ? null : type };
  if (formType.test(type)) return { ...plain, mode: 'form', fields: fieldsOf(document, media, false) };
  if (multipartType.test(type)) return { ...plain, mode: 'multipart', fields: fieldsOf(document, media, true), sendsFiles: true };
  if (textType.test(type) && !type.includes('*')) return { ...plain, mode: 'raw', contentType: type };
  // A range leaves the type open: a body that is not a file is sent as JSON.
  const isRange = type.includes('*');
  if (isRange && rankOf(type) < 1 && !isFile(document, media.node['schema'], `${media.pointer}/schema`)) return { ...plain, mode: 'json' };
  return { ...plain, mode: 'bytes', contentType: isRange ? null : type, sendsFiles: true };
}

/** Returns the fields of a form that have an Encoding Object (OpenAPI 3.1 §4.8.15), and those of a multipart body that are files. */
function fieldsOf(document: Document, { node, pointer }: Media, takesFiles: boolean): Record<string, FieldForm> | null {
  const encodings = isObject(node['encoding']) ? node['encoding'] : {};
  const properties = new Map<string, { readonly node: unknown; readonly pointer: string }>();
  if (takesFiles) gather(document, { node: node['schema'], pointer: `${pointer}/schema` }, properties);
  const forms = [...new Set([...Object.keys(encodings), ...properties.keys()])].map((name): [string, FieldForm] => {
    const encoding = encodings[name];
    const property = properties.get(name);
    return [
      name,
      {
        ...(isObject(encoding) ? formOf(encoding, takesFiles) : {}),
        ...(property && isFile(document, property.node, property.pointer) ? { isFile: true } : {}),
      },
    ];
  });
  const told = forms.filter(([, form]) => Object.keys(form).length > 0);
  return told.length === 0 ? null : Object.fromEntries(told);
}

function formOf(encoding: Json, isMultipart: boolean): FieldForm {
  const { style, explode, allowReserved, contentType } = encoding;
  const known = parameterStyles.find((name) => name === style);
  const type = typeof contentType === 'string' ? contentType.split(',')[0]?.trim() : undefined;
  const typed = type === undefined || (!isMultipart && !jsonType.test(type.toLowerCase())) ? {} : { contentType: type };
  // Parts of a multipart body have a type of their own and no style.
  if (isMultipart) return typed;
  const styled: FieldForm = {
    ...(known === undefined ? {} : { style: known satisfies ParameterStyle }),
    ...(typeof explode === 'boolean' ? { explode } : {}),
    ...(allowReserved === true ? { allowReserved } : {}),
  };
  // An explicit style replaces the type.
  return Object.keys(styled).length > 0 ? styled : typed;
}

/** Maximum schemas that are inspected, each once: documents have circular references, and many that share targets. */
const maxJudged = 500;

/** Collects the fields of a schema, including those of the schemas that it is composed of. */
function gather(
  document: Document,
  schema: { readonly node: unknown; readonly pointer: string },
  into: Map<string, { readonly node: unknown; readonly pointer: string }>,
  judged = new Set<string>(),
): void {
  const found = into.size > 500 ? null : unjudged(document, schema, judged);
  if (found === null) return;
  const { properties } = found.node;
  for (const [name, node] of Object.entries(isObject(properties) ? properties : {})) {
    const field = { node, pointer: `${found.pointer}/properties${step(name)}` };
    // Of several descriptions of one field, that of a file counts.
    if (!into.has(name) || isFile(document, field.node, field.pointer)) into.set(name, field);
  }
  for (const keyword of ['allOf', 'anyOf', 'oneOf']) {
    const list = found.node[keyword];
    for (const [index, node] of (Array.isArray(list) ? list : []).entries())
      gather(document, { node, pointer: `${found.pointer}/${keyword}/${index}` }, into, judged);
  }
}

/** Whether a value is a file, a list of files, or one of several alternatives of which one is a file. */
function isFile(document: Document, schema: unknown, pointer: string, judged = new Set<string>()): boolean {
  const found = unjudged(document, { node: schema, pointer }, judged);
  if (found === null) return false;
  if (isBinary(found.node)) return true;
  const { items } = found.node;
  if (isObject(items) && isFile(document, items, `${found.pointer}/items`, judged)) return true;
  return ['allOf', 'anyOf', 'oneOf'].some((keyword) => {
    const list = found.node[keyword];
    return Array.isArray(list) && list.some((one, index) => isFile(document, one, `${found.pointer}/${keyword}/${index}`, judged));
  });
}

/** Whether a schema accepts a text, or the file that binary strings stand for. Each location is checked once: documents have circular references. */
export function isTextual(document: Document, schema: unknown, pointer: string, judged = new Map<string, boolean>()): boolean {
  const found = resolved(document, schema, pointer);
  if (found === null) return true; // a value without a description may be anything
  const known = judged.get(found.pointer);
  if (known !== undefined || judged.size > maxJudged) return known ?? true;
  judged.set(found.pointer, true);
  const { type, properties, items } = found.node;
  const isOfOtherType = type === undefined ? properties !== undefined || items !== undefined : ![type].flat().includes('string');
  const parts = (keyword: string) => {
    const list = found.node[keyword];
    return (Array.isArray(list) ? list : []).map((one, index) => isTextual(document, one, `${found.pointer}/${keyword}/${index}`, judged));
  };
  const takesOne = (fits: readonly boolean[]) => fits.length === 0 || fits.includes(true);
  const takesText =
    isBinary(found.node) || (!isOfOtherType && takesOne(parts('anyOf')) && takesOne(parts('oneOf')) && !parts('allOf').includes(false));
  judged.set(found.pointer, takesText);
  return takesText;
}

function unjudged(document: Document, { node, pointer }: { readonly node: unknown; readonly pointer: string }, judged: Set<string>) {
  const found = resolved(document, node, pointer);
  if (found === null || judged.has(found.pointer) || judged.size > maxJudged) return null;
  judged.add(found.pointer);
  return found;
}

function resolved(document: Document, schema: unknown, pointer: string) {
  try {
    return isObject(schema) ? document.resolve(schema, pointer) : null;
  } catch (error) {
    if (error instanceof Unusable) return null; // what can't be read may be anything
    throw error;
  }
}
