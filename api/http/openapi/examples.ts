import { readdirSync, readFileSync } from 'node:fs';
import type { TSchema } from 'typebox';
import type { RegisteredOperation } from '../operation/operation.ts';

type Json = Readonly<Record<string, unknown>>;

const folder = new URL('examples/', import.meta.url);

const byFormat: Readonly<Record<string, string>> = {
  'uuid': '01960000-0000-7000-8000-000000000001',
  'date-time': '2026-01-31T09:30:00.000Z',
  'date': '2026-01-31',
  'email': 'ada@longhaul.test',
  'https-url': 'https://longhaul.test/page',
  'decimal': '12.50',
};

/** Tried in order if the schema has a pattern. */
const candidates = [
  'example',
  'Example',
  'main',
  '0.1.0',
  '123456',
  'EUR',
  'GET',
  '/items',
  '1-0',
  'en-GB',
  'Europe/Berlin',
  'application/json',
  'lh_example',
  'abc'.repeat(21).concat('d'),
];

/** What a test sent to an operation and what came back, with ids, times and secrets that are made up. */
export interface RecordedExample {
  readonly request: { readonly path?: Json; readonly query?: Json; readonly body?: unknown };
  /** By status, then by media type; a reply without a body has none. */
  readonly replies: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

let recorded: Readonly<Record<string, RecordedExample>> | undefined;

/** The exchange that `EXAMPLES=write npm test -- test/examples` recorded; read when the document is built, since most processes are never asked for it. */
function recordedOf({ operationId }: RegisteredOperation): RecordedExample | undefined {
  recorded ??= Object.assign({}, ...readdirSync(folder).map((name) => JSON.parse(readFileSync(new URL(name, folder), 'utf8')) as object)); // ours
  return recorded?.[operationId];
}

/** A body as a client sends it. */
export function bodyExample(operation: RegisteredOperation, body: TSchema): unknown {
  return recordedOf(operation)?.request.body ?? operation.example?.body ?? exampleOf(body);
}

/** A parameter as it stood in the request of the example; undefined where that had none. */
export function parameterExample(operation: RegisteredOperation, location: 'path' | 'query' | 'header', name: string): unknown {
  return location === 'header' ? undefined : recordedOf(operation)?.request[location]?.[name];
}

/** A status that no test has met shows another reply with the same view. */
function repliesOf(operation: RegisteredOperation, status: number): Json | undefined {
  const own = recordedOf(operation)?.replies;
  // With mode wait, the run as it is afterwards.
  const ended = operation.operationId === 'createRun' ? recorded?.['getRun']?.replies[200] : undefined;
  return own?.[String(status)] ?? ended ?? Object.values(own ?? {})[0];
}

/** What a success looks like in a media type: as an operation once answered, else by its schema. */
export function replyExample(
  operation: RegisteredOperation,
  { status, type, schema }: { status: number; type: string; schema: TSchema | null },
): unknown {
  const found = repliesOf(operation, status)?.[type];
  if (found !== undefined) return found;
  if (schema) return exampleOf(schema);
  return type === 'application/json' ? {} : 'text';
}

/** A value that is valid against the schema: its own example, default or first choice where it has one. */
export function exampleOf(schema: TSchema): unknown {
  // TypeBox schemas are plain JSON Schema objects, here read as such.
  return example(schema as unknown as Json, '');
}

function example(schema: Json, name: string): unknown {
  const [given] = Array.isArray(schema['examples']) ? schema['examples'] : [];
  if (given !== undefined) return given;
  if (schema['const'] !== undefined) return schema['const'];
  if (schema['default'] !== undefined) return schema['default'];
  const choices = schema['enum'] ?? schema['x-extensible-enum'];
  if (Array.isArray(choices)) return choices[0];

  const branch = schema['type'] === 'object' ? null : firstBranch(schema);
  if (branch) return example(branch, name);
  return ofType(typeOf(schema), schema, name);
}

function ofType(type: string | null, schema: Json, name: string): unknown {
  if (type === 'object') return ofObject(schema);
  if (type === 'array') return ofArray(schema, name);
  if (type === 'string') return ofString(schema, name);
  if (type === 'integer' || type === 'number') return Math.max(typeof schema['minimum'] === 'number' ? schema['minimum'] : 0, 1);
  if (type === 'boolean') return true;
  return type === 'null' ? null : {};
}

function ofObject(schema: Json): Json {
  const properties = Object.entries(asObject(schema['properties']));
  const made = Object.fromEntries(properties.map(([key, child]) => [key, example(asObject(child), key)]));
  const conditions = Array.isArray(schema['allOf']) ? schema['allOf'].map(asObject) : [];
  const met = conditions.filter((condition) => isMet(asObject(condition['if']), made));
  return Object.assign(made, ...met.map((condition) => ofObject(asObject(condition['then']))));
}

/** Whether the constants of an `if` are those of the example. */
function isMet(condition: Json, made: Json): boolean {
  const wanted = Object.entries(asObject(condition['properties']));
  return wanted.length > 0 && wanted.every(([key, child]) => asObject(child)['const'] === made[key]);
}

function ofArray(schema: Json, name: string): unknown[] {
  const items = asObject(schema['items']);
  if (schema['maxItems'] === 0) return [];
  const item = example(items, name.replace(/s$/, ''));

  return Array.from({ length: Math.max(1, Number(schema['minItems'] ?? 1)) }, () => item);
}

function ofString(schema: Json, name: string): string {
  const known = byFormat[String(schema['format'])];
  if (known !== undefined) return known;
  const pattern = typeof schema['pattern'] === 'string' ? new RegExp(schema['pattern'], 'u') : null;
  const readable = name.replaceAll('_', ' ') || 'text';
  const fitting = [readable, name, ...candidates].find((text) => isWithin(schema, text) && (!pattern || pattern.test(text)));

  if (fitting !== undefined) return fitting;
  const length = Math.max(1, Number(schema['minLength'] ?? 1));
  return 'x'.repeat(length);
}

function isWithin(schema: Json, text: string): boolean {
  return text.length >= Number(schema['minLength'] ?? 0) && text.length <= Number(schema['maxLength'] ?? Infinity);
}

function firstBranch(schema: Json): Json | null {
  const branches = schema['oneOf'] ?? schema['allOf'];
  if (!Array.isArray(branches) || branches.length === 0) return null;
  return asObject(branches[0]);
}

function typeOf(schema: Json): string | null {
  const type = schema['type'];
  if (Array.isArray(type)) return String(type[0]);
  return typeof type === 'string' ? type : null;
}

function asObject(value: unknown): Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? Object.fromEntries(Object.entries(value)) : {};
}
