import type { TSchema } from 'typebox';
import { exampleOf } from '../../../api/http/openapi-examples.ts';
import type { RegisteredOperation } from '../../../api/http/operation.ts';
import { querySchemaOf } from '../../../api/http/page.ts';

export type Json = Record<string, unknown>;

/** What the walk needs to fill paths and bodies: ids of rows that are there, by the kind that a schema names. */
export interface WalkWorld {
  readonly ids: Readonly<Record<string, string>>;
  /** Bodies of operations whose example would be refused on its meaning. */
  readonly bodies: Readonly<Record<string, () => unknown>>;
}

/** The path of an operation with ids of the world, or with one text for every parameter. */
export function pathOf(operation: RegisteredOperation, world: WalkWorld, text?: string): string {
  return operation.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => text ?? idFor(operation.params?.properties[name], world));
}

/** A body that is valid by schema and, as far as the world tells, by meaning; undefined where there is none. */
export function bodyOf(operation: RegisteredOperation, world: WalkWorld): unknown {
  const own = world.bodies[operation.operationId];
  if (own) return own();
  return operation.body ? withIds(operation.body, exampleOf(operation.body), world) : undefined;
}

/** Names of the query parameters that an operation declares. */
export function queryNamesOf(operation: RegisteredOperation): string[] {
  return Object.keys(querySchemaOf(operation).properties);
}

/** Pointers of the fields of a body that may not be null, with the body that has null there. */
export function* nullsOf(schema: TSchema, body: unknown): Generator<{ pointer: string; body: unknown }> {
  for (const { pointer, field } of fieldsOf(asObject(schema), '')) {
    if (!allowsNull(field)) yield { pointer, body: withValue(body, pointer.slice(1).split('/'), null) };
  }
}

/** Where a body names rows by id, and of which kind; the first item of a list stands for all. */
export function* idPlacesOf(schema: unknown, path: readonly string[] = []): Generator<{ path: readonly string[]; kind: string }> {
  const node = asObject(schema);
  const kind = node['x-id-of'];
  if (typeof kind === 'string') yield { path, kind };
  for (const branch of Array.isArray(node['oneOf']) ? node['oneOf'] : []) yield* idPlacesOf(branch, path);
  for (const [name, child] of Object.entries(asObject(node['properties']))) yield* idPlacesOf(child, [...path, name]);
  if (node['items'] !== undefined) yield* idPlacesOf(node['items'], [...path, '0']);
}

/** Query parameters that name rows by id, and of which kind. */
export function queryIdsOf(operation: RegisteredOperation): { name: string; kind: string }[] {
  return Object.entries(querySchemaOf(operation).properties).flatMap(([name, schema]) => {
    const kind = asObject(schema)['x-id-of'];
    return typeof kind === 'string' ? [{ name, kind }] : [];
  });
}

/** One place of a value set anew, the rest alike; missing objects and first items on the way are made. */
export function withValue(target: unknown, path: readonly string[], value: unknown): unknown {
  const [first, ...rest] = path;
  if (first === undefined) return value;
  if (first === '0' && (target === undefined || (Array.isArray(target) && target.length === 0))) return [withValue(undefined, rest, value)];
  if (Array.isArray(target)) return target.map((item: unknown, index) => (String(index) === first ? withValue(item, rest, value) : item));
  return { ...asObject(target), [first]: withValue(asObject(target)[first], rest, value) };
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

function withIds(schema: TSchema, value: unknown, world: WalkWorld): unknown {
  const visit = (node: Json, at: unknown): unknown => {
    if (typeof node['x-id-of'] === 'string' && typeof at === 'string') return world.ids[node['x-id-of']] ?? at;
    if (Array.isArray(at)) return at.map((item) => visit(asObject(node['items']), item));
    if (typeof at !== 'object' || at === null) return at;
    return Object.fromEntries(Object.entries(at).map(([key, child]) => [key, visit(asObject(asObject(node['properties'])[key]), child)]));
  };
  return visit(asObject(schema), value);
}

function idFor(schema: unknown, world: WalkWorld): string {
  const kind = asObject(schema)['x-id-of'];
  return world.ids[String(kind)] ?? crypto.randomUUID();
}

function asObject(value: unknown): Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? Object.fromEntries(Object.entries(value)) : {};
}
