import type { TSchema } from 'typebox';
import { exampleOf } from '../../api/http/openapi/examples.ts';
import type { RegisteredOperation } from '../../api/http/operation/operation.ts';
import { querySchemaOf } from '../../api/http/reply/page.ts';

export type Json = Record<string, unknown>;

/** Gives the id of a row of a kind, as schemas name kinds (`idOf('Agent')`); null where there is none. */
export type IdsByKind = (kind: string) => string | null;

/** One place of a path, body or query that names a row. */
export interface IdPlace {
  readonly path: readonly string[];
  readonly kind: string;
}

/** The parameters of a path in their order; `kind` is null for those that are no ids. */
export function pathParametersOf(operation: RegisteredOperation): { name: string; kind: string | null }[] {
  return [...operation.path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => ({ name, kind: kindOf(operation.params?.properties[name]) }));
}

/** The path with its parameters filled in. */
export function pathWith(operation: RegisteredOperation, values: Readonly<Record<string, string>>): string {
  return operation.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(values[name] ?? 'missing'));
}

/**
 * A body that is valid by schema and, as far as a schema tells, by meaning: the documented example with ids put in by kind, and slugs and
 * addresses that nobody has yet. Undefined where the operation takes none.
 */
export function sampleBody(operation: RegisteredOperation, ids: IdsByKind): unknown {
  if (!operation.body) return undefined;
  const example = operation.example?.body ?? exampleOf(operation.body);
  return freshened(withIds(operation.body, example, ids));
}

/** Names of the query parameters that an operation declares. */
export function queryNamesOf(operation: RegisteredOperation): string[] {
  return Object.keys(querySchemaOf(operation).properties);
}

/** Where a body names rows by id, and of which kind; the first item of a list stands for all. */
export function* idPlacesOf(schema: unknown, path: readonly string[] = []): Generator<IdPlace> {
  const node = asObject(schema);
  const kind = kindOf(node);
  if (kind !== null) yield { path, kind };
  for (const branch of ['oneOf', 'allOf'].flatMap((name) => (Array.isArray(node[name]) ? node[name] : []))) yield* idPlacesOf(branch, path);
  for (const [name, child] of Object.entries(asObject(node['properties']))) yield* idPlacesOf(child, [...path, name]);
  if (node['items'] !== undefined) yield* idPlacesOf(node['items'], [...path, '0']);
}

/** Query parameters that name rows by id, and of which kind. */
export function queryIdsOf(operation: RegisteredOperation): { name: string; kind: string }[] {
  return Object.entries(querySchemaOf(operation).properties).flatMap(([name, schema]) => {
    const kind = kindOf(schema) ?? kindOf(asObject(schema)['items']);
    return kind === null ? [] : [{ name, kind }];
  });
}

/** Pointers of the fields of a body that may not be null, with the body that has null there. */
export function* nullsOf(schema: TSchema, body: unknown): Generator<{ pointer: string; body: unknown }> {
  for (const { pointer, field } of fieldsOf(asObject(schema), '')) {
    if (!allowsNull(field)) yield { pointer, body: withValue(body, pointer.slice(1).split('/'), null) };
  }
}

/** One place of a value set anew, the rest alike; missing objects and first items on the way are made. */
export function withValue(target: unknown, path: readonly string[], value: unknown): unknown {
  const [first, ...rest] = path;
  if (first === undefined) return value;
  if (first === '0' && (target === undefined || target === null || (Array.isArray(target) && target.length === 0)))
    return [withValue(undefined, rest, value)];
  if (Array.isArray(target)) return target.map((item: unknown, index) => (String(index) === first ? withValue(item, rest, value) : item));
  return { ...asObject(target), [first]: withValue(asObject(target)[first], rest, value) };
}

export function asObject(value: unknown): Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? Object.fromEntries(Object.entries(value)) : {};
}

function kindOf(schema: unknown): string | null {
  const kind = asObject(schema)['x-id-of'];
  return typeof kind === 'string' ? kind : null;
}

/** Fields of objects within objects; branches and arrays end the way. */
function* fieldsOf(schema: Json, pointer: string): Generator<{ pointer: string; field: Json }> {
  for (const [name, child] of Object.entries(asObject(schema['properties']))) {
    const field = asObject(child);
    yield { pointer: `${pointer}/${name}`, field };
    if (field['type'] === 'object') yield* fieldsOf(field, `${pointer}/${name}`);
  }
}

function allowsNull(field: Json): boolean {
  const types = Array.isArray(field['type']) ? field['type'] : [field['type']];
  const branches = Array.isArray(field['oneOf']) ? field['oneOf'] : [];
  const isAnything =
    field['type'] === undefined && field['oneOf'] === undefined && field['enum'] === undefined && field['allOf'] === undefined;
  return isAnything || types.includes('null') || branches.some((branch) => asObject(branch)['type'] === 'null');
}

/** A body with ids put in by kind. */
export function withIds(schema: TSchema, value: unknown, ids: IdsByKind): unknown {
  const visit = (node: Json, at: unknown): unknown => {
    const kind =
      kindOf(node) ?? (Array.isArray(node['oneOf']) ? (node['oneOf'].map(kindOf).find((found) => found !== null) ?? null) : null);
    if (kind !== null && typeof at === 'string') return ids(kind) ?? at;
    if (Array.isArray(at)) return at.map((item) => visit(asObject(node['items']), item));
    if (typeof at !== 'object' || at === null) return at;
    return Object.fromEntries(Object.entries(at).map(([key, child]) => [key, visit(asObject(asObject(node['properties'])[key]), child)]));
  };
  return visit(asObject(schema), value);
}

/** What must be free is made free; a slug or address within a list refers to something. */
function freshened(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  const fresh = (key: string, child: unknown) => {
    if (key === 'slug' && typeof child === 'string') return `s-${crypto.randomUUID()}`;
    if (key === 'email' && typeof child === 'string') return `e-${crypto.randomUUID()}@canary.test`;
    return freshened(child);
  };
  return Object.fromEntries(Object.entries(value).map(([key, child]) => [key, fresh(key, child)]));
}
