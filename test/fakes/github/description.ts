import { readFileSync } from 'node:fs';
import { Ajv, type ValidateFunction } from 'ajv';

type Json = Record<string, any>;

/** Part of GitHub's own description of its API, see `describe.mjs`. */
const description: Json = JSON.parse(readFileSync(new URL('description.json', import.meta.url), 'utf8'));
const ajv = new Ajv({ strict: false, allErrors: false, validateFormats: true });
ajv.addFormat('date-time', /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/);
ajv.addFormat('uri', /^[a-z][a-z0-9+.-]*:/i);
for (const format of ['email', 'int64', 'repo.nwo', 'timestamp', 'uri-template']) ajv.addFormat(format, true);
ajv.addSchema(readable(description), 'github');

export interface Described {
  /** Value of the path by the names of the template. */
  readonly params: Readonly<Record<string, string>>;
  readonly route: string;
  readonly success: number;
}

const known = Object.entries(description['paths'] as Json).flatMap(([path, methods]) =>
  Object.entries(methods as Json).map(([method, operation]) => ({
    route: `${method.toUpperCase()} ${path}`,
    form: new RegExp(`^${path.replace(/\{(\w+)\}/g, (_all, name) => (name === 'path' ? '(?<path>.+)' : `(?<${name}>[^/]+)`))}$`),
    method: method.toUpperCase(),
    success: Number(Object.keys((operation as Json)['responses'])[0]),
  })),
);

/** Which operation a request names; null: none that the fake serves. */
export function describe(method: string, path: string): Described | null {
  for (const each of known) {
    const found = each.method === method ? each.form.exec(path) : null;
    if (found)
      return {
        route: each.route,
        success: each.success,
        params: Object.fromEntries(Object.entries(found.groups ?? {}).map(([name, value]) => [name, decodeURIComponent(value)])),
      };
  }
  return null;
}

const validators = new Map<string, ValidateFunction>();

function operationOf(route: string): Json {
  const [method = '', path = ''] = route.split(' ');
  return description['paths'][path][method.toLowerCase()];
}

function faultsOf(key: string, schema: Json, value: unknown): string | null {
  const validate = validators.get(key) ?? ajv.compile(absolute(schema));
  validators.set(key, validate);
  return validate(value) ? null : ajv.errorsText(validate.errors);
}

/** A part of the description whose references find the whole. */
function absolute(node: any): any {
  return readable(node, (ref) => `github${ref}`);
}

/** The description as Ajv reads it: there `nullable` stands beside a `type` only, and gives an `enum` no null. */
function readable(node: any, refOf: (ref: string) => string = (ref) => ref): any {
  if (Array.isArray(node)) return node.map((each) => readable(each, refOf));
  if (typeof node !== 'object' || node === null) return node;
  const entries = Object.entries(node).map(([name, value]) => [name, name === '$ref' ? refOf(String(value)) : readable(value, refOf)]);
  const copy = Object.fromEntries(entries);
  const isPlain = copy['type'] !== undefined && !(Array.isArray(copy['enum']) && !copy['enum'].includes(null));
  if (copy['nullable'] !== true || isPlain) return copy;
  delete copy['nullable'];
  return { anyOf: [copy, { type: 'null' }] };
}

/** What the description has against a body that is sent to an operation; null: nothing. */
export function bodyFaults(route: string, body: unknown): string | null {
  const schema = operationOf(route)['requestBody']?.content?.['application/json']?.schema;
  return schema === undefined ? null : faultsOf(`${route} body`, schema, body);
}

/** What it has against the query: unknown parameters, and pages that are too long. */
export function queryFaults(route: string, query: URLSearchParams): string | null {
  const parameters: Json[] = (operationOf(route)['parameters'] ?? []).map(resolved);
  const names = new Set(parameters.filter((each) => each['in'] === 'query').map((each) => each['name']));
  for (const name of query.keys()) if (!names.has(name)) return `no parameter ${name}`;
  return Number(query.get('per_page') ?? 30) > 100 ? 'per_page is more than 100' : null;
}

/** What it has against an answer of ours. */
export function answerFaults(route: string, status: number, data: unknown): string | null {
  const answer = resolved(operationOf(route)['responses'][String(status)] ?? {});
  const schema = answer['content']?.['application/json']?.schema;
  if (schema === undefined) return data === null || status === 202 ? null : `no answer ${status} is described`;
  return faultsOf(`${route} ${status}`, schema, data);
}

/** The least value that a schema of the description allows: each required member, by its example where it has one. */
export function sampleOf(name: string): Json {
  return sample({ ...resolved({ $ref: `#/components/schemas/${name}` }), nullable: false }) as Json;
}

function sample(asked: Json): unknown {
  const schema = resolved(asked);
  if (schema['nullable'] === true) return null;
  if (Array.isArray(schema['allOf'])) return Object.assign({}, ...schema['allOf'].map(sample));
  const [first] = schema['anyOf'] ?? schema['oneOf'] ?? [];
  if (first !== undefined && schema['properties'] === undefined) return sample(first);
  if (Array.isArray(schema['enum'])) return schema['enum'][0];
  if (schema['properties'] !== undefined || schema['type'] === 'object') {
    const names: string[] = schema['required'] ?? [];
    return Object.fromEntries(names.map((name) => [name, sample(schema['properties']?.[name] ?? {})]));
  }
  if (schema['type'] === 'array') return [];
  if (schema['example'] !== undefined && typeof schema['example'] === schema['type']) return schema['example'];
  return plainSample(schema);
}

function plainSample(schema: Json): unknown {
  switch (schema['type']) {
    case 'integer':
    case 'number':
      return 1;
    case 'boolean':
      return false;
    case 'string':
      if (schema['format'] === 'date-time') return '2026-01-01T00:00:00Z';
      return schema['format'] === 'uri' ? 'https://github.test/' : 'text';
    default:
      return {};
  }
}

function resolved(node: Json): Json {
  const ref: unknown = node['$ref'];
  if (typeof ref !== 'string') return node;
  const target = ref
    .split('/')
    .slice(1)
    .reduce((at: Json, name) => at[name], description);
  return resolved(target);
}
