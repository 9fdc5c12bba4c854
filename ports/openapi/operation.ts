import { truncateText } from '../../workflows/contracts/truncate-text.ts';
import { isTextual, readBody, type ReadBody } from './body.ts';
import type { FoundOperation } from './choice.ts';
import { isObject, isStorable, textOf, Unusable, type Document, type Json } from './document.ts';
import { argumentName, readParameters, type ReadParameter } from './parameters.ts';
import type { OpenApiOperation } from './reader.ts';
import { createSchemaReader, details, fileSchema, fullDetail, type Detail, type SchemaReader } from './schema.ts';
import { readSchema } from '../json/schema-rules.ts';

const maxOutputBytes = 64 * 1024;

/**
 * Returns an operation as a tool. Its schemas only inform and check: those that are too large, or that no validator can read, are given in less detail. Throws
 * Unusable for an operation whose request can't be sent.
 */
export function readOperation(document: Document, found: FoundOperation): OpenApiOperation {
  const { method, operation } = found;
  const body = readBody(document, operation);
  const sendsBody = method !== 'GET' && method !== 'HEAD';
  if (body?.isRequired && !sendsBody)
    throw new Unusable(operation.pointer, 'unsupported', `a ${method} with a required body is of a sort that no tool can send`);
  const { parameters, ...input } = readInput(document, found, sendsBody ? body : null);
  const summary = textOf(operation.node['summary']);
  const read: OpenApiOperation = {
    name: found.name,
    title: truncateText(storable(summary ?? ''), 200) || null,
    description: truncateText(storable(textOf(operation.node['description']) ?? summary ?? `${method} ${found.path}`), 4_096),
    input_schema: input.schema,
    output_schema: outputOf(document, operation),
    method,
    path: storable(found.path),
    reducedTo: input.detail === fullDetail ? null : input.detail.keywords === 'shape' ? 'shape' : `bare, ${input.detail.levels} levels`,
    request: {
      url: urlOf(found, parameters),
      headers: input.argument !== null && body?.contentType ? { 'content-type': body.contentType } : {},
      parameters: parameters.map(({ sent }) => sent),
      body:
        input.argument === null || body === null
          ? { mode: 'none', template: null }
          : { mode: body.mode, template: `{{ args.${input.argument} }}`, ...(body.fields === null ? {} : { fields: body.fields }) },
    },
  };
  if (!isStorable(read.request)) throw new Unusable(operation.pointer, 'characters', 'contains characters that cannot be stored');
  return read;
}

interface Input {
  readonly parameters: readonly ReadParameter[];
  /** The argument that is the body; null without one. */
  readonly argument: string | null;
  readonly detail: Detail;
  readonly schema: Record<string, unknown>;
}

/** Returns the arguments in the most detail that a tool may have. */
function readInput(document: Document, found: FoundOperation, body: ReadBody | null): Input {
  let last: Unusable | null = null;
  for (const detail of details) {
    try {
      const input = describe(document, found, { body, detail });
      const [problem] = readSchema(input.schema).problems;
      if (!problem) return input;
      last = new Unusable(found.operation.pointer, problem.rule, `its input schema cannot be used: ${problem.message}`);
    } catch (error) {
      if (!(error instanceof Unusable) || error.problem.rule !== 'too_large') throw error;
      last = error;
    }
  }
  throw last ?? new Error('an operation is described in no detail');
}

function describe(
  document: Document,
  found: FoundOperation,
  { body, detail }: { readonly body: ReadBody | null; readonly detail: Detail },
): Input {
  const schemas = createSchemaReader(document, { direction: 'request', detail, sendsFiles: body?.sendsFiles ?? false });
  const parameters = readParameters(document, schemas, found);
  const argument = body && argumentName('body', new Set(parameters.map(({ sent }) => sent.argument)));
  const bodySchema = body && bodySchemaOf(document, schemas, body);
  const properties = parameters.map(({ sent, schema }): [string, unknown] => [sent.argument, schema]);
  if (argument !== null) properties.push([argument, bodySchema]);
  const required = parameters.filter(({ isRequired }) => isRequired).map(({ sent }) => sent.argument);
  const defs = schemas.defs();
  const schema = {
    type: 'object',
    properties: Object.fromEntries(properties),
    required: argument !== null && body?.isRequired ? [...required, argument] : required,
    additionalProperties: false,
    ...(Object.keys(defs).length === 0 ? {} : { $defs: defs }),
  };
  // A JSON object keeps its shape.
  return { parameters, argument, detail, schema: storableValue(schema) as Record<string, unknown> };
}

/**
 * Returns the schema of the argument that is the body. A text and the bytes of a file are passed as such, however their content is described: the model writes
 * the XML of an object, so the object becomes the text's `contentSchema`.
 */
function bodySchemaOf(document: Document, schemas: SchemaReader, { mode, contentType, schema }: ReadBody): unknown {
  const isPlain = (mode !== 'raw' && mode !== 'bytes') || isTextual(document, schema.node, schema.pointer);
  if (!isPlain && mode === 'bytes') return fileSchema;
  const read = schemas.read(schema.node, schema.pointer);
  const mediaType = contentType ?? 'text/plain';
  return isPlain ? read : { type: 'string', description: `A text in ${mediaType}`, contentMediaType: mediaType, contentSchema: read };
}

/** Returns the path with an argument's name in braces for each of its parameters; its other characters are literal. */
function urlOf({ path, operation }: FoundOperation, parameters: readonly ReadParameter[]): string {
  const names = new Map(parameters.flatMap(({ sent }) => (sent.in === 'path' ? [[sent.name, sent.argument] as const] : [])));
  // The part after # is never sent; some documents use it to distinguish operations of one path.
  const parts = path.replace(/#.*$/s, '').split(/\{([^{}]*)\}/);
  const url = parts.map((part, position) => (position % 2 === 0 ? literal(part) : `{${names.get(part.toWellFormed()) ?? ''}}`)).join('');
  if (/(?:^|\/)(?:\.|%2e){1,2}(?:[/?]|$)/i.test(url)) throw new Unusable(operation.pointer, 'pattern', 'the path has a segment . or ..');
  return url;
}

/** Percent-encodes every character that is not allowed in a path or query (RFC 3986 §3.3), above all braces: they would name an argument. */
function literal(part: string): string {
  return part.toWellFormed().replaceAll(/%(?![0-9A-Fa-f]{2})|[^A-Za-z0-9\-._~!$&'()*+,;=:@/%?]+/g, encodeURIComponent);
}

/** Returns the schema of a successful result, when the document describes it in JSON; it only informs, so one that is too large is left out. */
function outputOf(document: Document, operation: { readonly node: Json; readonly pointer: string }): Record<string, unknown> | null {
  const responses = operation.node['responses'];
  if (!isObject(responses)) return null;
  const code = Object.keys(responses)
    .filter((name) => /^2(?:\d\d|XX)$/i.test(name))
    .toSorted()[0];
  if (code === undefined) return null;
  try {
    const { node, pointer } = document.resolve(responses[code], `${operation.pointer}/responses/${code}`);
    const json = isObject(node['content']) ? node['content']['application/json'] : null;
    if (!isObject(json) || !isObject(json['schema'])) return null;
    const schemas = createSchemaReader(document, { direction: 'response' });
    const schema = schemas.read(json['schema'], `${pointer}/content/application~1json/schema`);
    const defs = schemas.defs();
    if (!isObject(schema)) return null;
    const whole = Object.keys(defs).length === 0 ? { ...schema } : { ...schema, $defs: defs };
    if (Buffer.byteLength(JSON.stringify(whole)) > maxOutputBytes) return null;
    return storableValue(whole) as Record<string, unknown>; // the same shape
  } catch (error) {
    if (error instanceof Unusable) return null;
    throw error;
  }
}

/** Returns a text that PostgreSQL can store: U+0000 and lone surrogates become U+FFFD. */
function storable(text: string): string {
  return text.toWellFormed().replaceAll('\0', '\uFFFD');
}

function storableValue(node: unknown): unknown {
  if (isStorable(node)) return node;
  if (typeof node === 'string') return storable(node);
  if (Array.isArray(node)) return node.map(storableValue);
  return Object.fromEntries(Object.entries(Object(node)).map(([key, value]) => [storable(key), storableValue(value)]));
}
