import { cutText } from '../workflows/contracts/cut-text.ts';
import { readBody } from './openapi-body.ts';
import { isObject, isStorable, openDocument, step, textOf, Unusable, type Document, type Json } from './openapi-document.ts';
import { readParameters, type ReadParameter } from './openapi-parameters.ts';
import type { DocumentProblem, OpenApiOperation, OpenApiReading, ReadOpenApi } from './openapi-reader.ts';
import { createSchemaReader } from './openapi-schema.ts';
import { checkSchema } from './schema-rules.ts';

const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;
const limitOperations = 200;
const limitProblems = 50;
const limitOutputBytes = 64 * 1024;
const limitTotalBytes = 4 * 1024 * 1024;

interface Found {
  readonly name: string;
  readonly method: OpenApiOperation['method'];
  readonly path: string;
  readonly item: { node: Json; pointer: string };
  readonly operation: { node: Json; pointer: string };
}

/** Reads a document; runs in a child of the pool. */
export function readOpenApi({ text, include }: ReadOpenApi): OpenApiReading {
  const problems: DocumentProblem[] = [];
  const document = attempt(problems, () => openDocument(text));
  const found = document && attempt(problems, () => findOperations(document));
  if (!document || !found) return { operations: [], problems, unknown: [] };

  const known = new Set(found.map(({ name }) => name));
  const unknown = (include ?? []).flatMap((name, position) => (known.has(name) ? [] : [position]));
  const chosen = include === null ? found : found.filter(({ name }) => include.includes(name));
  refuseRepeats(chosen, problems);
  if (chosen.length > limitOperations) {
    problems.push({ pointer: '/paths', rule: 'maxItems', message: `has more than ${limitOperations} operations: name those to include` });
    return { operations: [], problems, unknown };
  }
  const operations = chosen.flatMap((one) => attempt(problems, () => readOperation(document, one)) ?? []);
  if (Buffer.byteLength(JSON.stringify(operations)) > limitTotalBytes)
    problems.push({ pointer: '', rule: 'too_large', message: 'its tools are too large together: name those to include' });
  return { operations: problems.length > 0 ? [] : operations, problems: problems.slice(0, limitProblems), unknown };
}

function attempt<T>(problems: DocumentProblem[], work: () => T): T | null {
  try {
    return work();
  } catch (error) {
    // What is nested without end runs out of stack in the parser.
    if (error instanceof RangeError) problems.push({ pointer: '', rule: 'too_large', message: 'the document is nested too deep' });
    else if (error instanceof Unusable) problems.push(error.problem);
    else throw error;
    return null;
  }
}

function findOperations(document: Document): Found[] {
  const paths = document.root['paths'];
  if (!isObject(paths)) return [];
  return Object.entries(paths).flatMap(([path, declared]) => {
    const pointer = `/paths${step(path)}`;
    if (!path.startsWith('/')) return [];
    const item = document.resolve(declared, pointer);
    return methods.flatMap((method) => {
      const key = method.toLowerCase();
      const node = Object.hasOwn(item.node, key) ? item.node[key] : undefined;
      if (!isObject(node)) return [];
      const operation = { node, pointer: `${item.pointer}/${key}` };
      return [{ name: nameOf(node, method, path), method, path, item, operation }];
    });
  });
}

function nameOf(node: Json, method: string, path: string): string {
  const made = `${method.toLowerCase()}_${path.replaceAll(/\W+/g, '_').replaceAll(/^_+|_+$/g, '')}`;
  return cutText(textOf(node['operationId']) ?? made, 128);
}

function refuseRepeats(chosen: readonly Found[], problems: DocumentProblem[]): void {
  const seen = new Set<string>();
  for (const { name, operation } of chosen) {
    if (seen.has(name))
      problems.push({ pointer: `${operation.pointer}/operationId`, rule: 'uniqueItems', message: 'another operation has the same id' });
    seen.add(name);
  }
}

function readOperation(document: Document, found: Found): OpenApiOperation {
  const { method, operation } = found;
  const schemas = createSchemaReader(document, 'request');
  const parameters = readParameters(document, schemas, found);
  const sendsBody = method !== 'GET' && method !== 'HEAD';
  const taken = new Set(parameters.map(({ argument }) => argument));
  const body = sendsBody ? readBody(document, schemas, { operation, taken }) : null;

  const properties = parameters.map(({ argument, schema }) => [argument, schema] as const);
  const required = parameters.filter(({ isRequired }) => isRequired).map(({ argument }) => argument);
  const defs = schemas.defs();
  const input_schema = {
    type: 'object',
    properties: Object.fromEntries(body ? [...properties, [body.argument, body.schema]] : properties),
    // An optional body is asked for, too: a request that says it is JSON must hold some.
    required: body ? [...required, body.argument] : required,
    additionalProperties: false,
    ...(Object.keys(defs).length === 0 ? {} : { $defs: defs }),
  };
  const headers = Object.fromEntries(parameters.flatMap(({ place }) => (place.in === 'header' ? [[place.name, place.template]] : [])));
  const read: OpenApiOperation = {
    name: found.name,
    title: cutText(textOf(operation.node['summary']) ?? '', 200) || null,
    description: cutText(textOf(operation.node['description']) ?? textOf(operation.node['summary']) ?? `${method} ${found.path}`, 4_096),
    input_schema,
    output_schema: outputOf(document, operation),
    method,
    path: found.path,
    request: {
      url: urlOf(found, parameters),
      query: Object.fromEntries(parameters.flatMap(({ place }) => (place.in === 'query' ? [[place.name, place.template]] : []))),
      headers: body?.contentType ? { ...headers, 'content-type': body.contentType } : headers,
      body: body?.body ?? { mode: 'none', template: null },
    },
  };
  refuseUnusable(read, operation.pointer);
  return read;
}

function refuseUnusable(read: OpenApiOperation, pointer: string): void {
  if (!isStorable(read)) throw new Unusable(pointer, 'characters', 'holds characters that can not be stored');
  const [problem] = checkSchema(read.input_schema);
  if (problem) throw new Unusable(pointer, problem.rule, `its input schema can not be used: ${problem.message}`);
}

/** The path with a template for each of its parameters; what else it holds is literal. */
function urlOf({ path, operation }: Found, parameters: readonly ReadParameter[]): string {
  const templates = new Map(parameters.flatMap(({ place }) => (place.in === 'path' ? [[place.name, place.template] as const] : [])));
  const pieces = path.split(/\{([^{}]*)\}/).map((piece, position) => {
    if (position % 2 === 0) return literal(piece);
    const template = templates.get(piece);
    if (template === undefined) throw new Unusable(operation.pointer, 'reference', 'the path names a parameter that is not described');
    return template;
  });
  if (pieces.some((piece) => /(?:^|\/)\.{1,2}(?:\/|$)/.test(piece)))
    throw new Unusable(operation.pointer, 'pattern', 'the path has a segment . or ..');
  const suffix = parameters.flatMap(({ place }) => (place.in === 'suffix' ? [place.template] : [])).join('');
  if (suffix === '') return pieces.join('');
  return `${pieces.join('')}{% capture pairs %}${suffix}{% endcapture %}{% if pairs != "" %}?{{ pairs | remove_first: "&" }}{% endif %}`;
}

/** Percent-encodes all that no path may hold as it stands (RFC 3986 §3.3), braces first of all: a template could read them. */
function literal(piece: string): string {
  return piece.toWellFormed().replaceAll(/%(?![0-9A-Fa-f]{2})|[^A-Za-z0-9\-._~!$&'()*+,;=:@/%]+/g, encodeURIComponent);
}

/** What a success gives, when the document says so in JSON; it only informs, so one that is too large is left out. */
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
    const schemas = createSchemaReader(document, 'response');
    const schema = schemas.read(json['schema'], `${pointer}/content/application~1json/schema`);
    const defs = schemas.defs();
    if (!isObject(schema)) return null;
    const whole = Object.keys(defs).length === 0 ? { ...schema } : { ...schema, $defs: defs };
    return Buffer.byteLength(JSON.stringify(whole)) > limitOutputBytes ? null : whole;
  } catch (error) {
    if (error instanceof Unusable) return null;
    throw error;
  }
}
