import { readFileSync } from 'node:fs';
import type { TSchema } from 'typebox';
import { fail } from '../../../workflows/contracts/failure.ts';
import { toEnvelope } from '../reply/error-envelope.ts';
import { ownErrorCodesOf } from './text.ts';
import type { RegisteredOperation } from '../operation/operation.ts';

type Json = Record<string, unknown>;

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

/** Replies that a deployment gave, by component, or by operation and status where that tells more; ids, times and secrets are made up. */
const recorded: Readonly<Record<string, unknown>> = {
  ...asObject(JSON.parse(readFileSync(new URL('examples/replies.json', import.meta.url), 'utf8'))),
  'streamRun 200': readFileSync(new URL('examples/stream.txt', import.meta.url), 'utf8'),
};

/** What a success looks like: as the operation itself says, else as a deployment once answered, else by its schema. */
export function replyExample(operation: RegisteredOperation, status: number, schema: TSchema | null): unknown {
  if (operation.example?.view !== undefined) return operation.example.view;
  const found = recorded[`${operation.operationId} ${status}`] ?? recorded[String(schema ? Reflect.get(schema, '$id') : '')];
  if (found !== undefined) return found;
  if (schema) return exampleOf(schema);
  return operation.produces === 'application/json' ? {} : 'text';
}

/** The usual failure of an operation: one that it declares itself, else that what it names is not there or the caller may not. */
export function failureExample(operation: RegisteredOperation, publicUrl: string): unknown {
  const codes = ownErrorCodesOf(operation);
  const own = operation.fails?.find((code) => code !== 'not_found' && code !== 'validation_failed');
  const usual = own ?? (['not_found', 'role_insufficient'] as const).find((code) => codes.includes(code));
  return toEnvelope(fail(usual ?? 'service_unavailable'), { publicUrl, correlationId: '01960000-0000-7000-8000-000000000001' });
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
