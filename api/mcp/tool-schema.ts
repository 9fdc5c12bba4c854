import { meaningOf } from '../http/openapi/descriptions.ts';
import type { RegisteredOperation } from '../http/operation/operation.ts';
import { querySchemaOf } from '../http/reply/page.ts';
import { keyArgument, tagArgument } from '../http/input/parse-arguments.ts';
import { isJson, type Json } from './json-rpc.ts';

/** Formats that keep their meaning in JSON Schema; pattern and length describe the values of our other formats. */
const commonFormats = new Set(['uuid', 'date-time', 'date']);
const dropped = new Set(['$id', 'example', 'examples', 'discriminator', 'deprecated']);

/** Returns the input of an operation as one object: path, query and body side by side, and what the route takes from headers. Throws if two share a name. */
export function inputSchemaOf(operation: RegisteredOperation): Json {
  const query = querySchemaOf(operation);
  const body = operation.body ? fieldsOf(schemaOf(operation.body)) : { properties: {}, required: [] };
  const bodyProperties = isJson(body['properties']) ? body['properties'] : {};
  const own = operation.operationId;
  const groups: Group[] = [
    { kind: 'path', place: own, fields: { ...operation.params?.properties } },
    { kind: 'query', place: own, fields: { ...query.properties } },
    { kind: 'field', place: locationOf(operation.body ? schemaOf(operation.body) : {}, own), fields: bodyProperties },
    { kind: 'field', place: own, fields: headersOf(operation) },
  ];
  const names = groups.flatMap(({ fields }) => Object.keys(fields));
  if (new Set(names).size < names.length) throw new Error(`${operation.operationId} has two inputs of one name`);

  const properties = Object.fromEntries(groups.flatMap(toArguments));
  const required = [...Object.keys(operation.params?.properties ?? {}), ...textsOf(query.required), ...textsOf(body['required'])];
  return { type: 'object', properties, ...(required.length > 0 ? { required } : {}), additionalProperties: false };
}

/** Inputs from one location of a request, see `meaningOf`. */
interface Group {
  readonly kind: 'path' | 'query' | 'field';
  readonly place: string;
  readonly fields: Json;
}

function toArguments({ kind, place, fields }: Group): [string, Json][] {
  return Object.entries(fields).map(([name, schema]) => {
    const made = rewrite(schemaOf(schema), `${place}.${name}`);
    return [name, withMeaning(made, meaningOf(place, name, kind))];
  });
}

/** Returns the fields of a body. If it has several forms, these are the fields of all, and those are required that every form requires. */
function fieldsOf(body: Json): Json {
  if (!Array.isArray(body['oneOf'])) return body;
  const forms = body['oneOf'].map(schemaOf);
  const properties: Json = {};
  for (const form of forms) {
    for (const [name, schema] of Object.entries(schemaOf(form['properties'])))
      properties[name] = eitherOf(properties[name], schemaOf(schema));
  }
  const required = textsOf(forms[0]?.['required']).filter((name) => forms.every((form) => textsOf(form['required']).includes(name)));
  return { properties, required };
}

/** The discriminating field accepts the values of all forms. */
function eitherOf(known: unknown, schema: Json): Json {
  if (!isJson(known)) return schema;
  const values = [known, schema].flatMap((one) => textsOf(one['x-extensible-enum'] ?? one['enum']));
  return values.length > 0 ? { type: 'string', enum: [...new Set(values)] } : known;
}

function headersOf(operation: RegisteredOperation): Json {
  const key = { type: 'string', minLength: 1, maxLength: 255, description: 'A repeat with the same key gets the first answer again' };
  const tag = { type: 'string', maxLength: 1_000, description: 'Entity tag that the resource must still have' };
  return {
    ...(operation.idempotent ? { [keyArgument]: key } : {}),
    ...(operation.ifMatch === null ? {} : { [tagArgument]: tag }),
  };
}

/** Returns a schema that any client can read: without our own keywords, and with components inlined. */
function rewrite(schema: Json, outer: string): Json {
  const place = locationOf(schema, outer);
  const made: Json = {};
  for (const [keyword, value] of Object.entries(schema)) {
    if (keyword === 'x-extensible-enum') made['enum'] = value;
    if (dropped.has(keyword) || keyword.startsWith('x-')) continue;
    if (keyword === 'format' && !commonFormats.has(String(value))) continue;
    made[keyword] = rewriteKeyword(keyword, value, place);
  }
  return made;
}

function rewriteKeyword(keyword: string, value: unknown, place: string): unknown {
  if (keyword === 'properties' || keyword === 'patternProperties' || keyword === '$defs') {
    const entries = Object.entries(schemaOf(value));
    return Object.fromEntries(
      entries.map(([name, child]) => [name, withMeaning(rewrite(schemaOf(child), `${place}.${name}`), meaningOf(place, name))]),
    );
  }
  if (keyword === 'default' || keyword === 'enum' || keyword === 'const') return value;
  if (Array.isArray(value)) return value.map((item: unknown) => (isJson(item) ? rewrite(item, place) : item));
  return isJson(value) ? rewrite(value, place) : value;
}

/** A component is a location of its own, see `meaningOf`. */
function locationOf(schema: Json, outer: string): string {
  return typeof schema['$id'] === 'string' ? schema['$id'] : outer;
}

/** A schema's own description takes precedence over the meaning of its name. */
function withMeaning(schema: Json, meaning: string | undefined): Json {
  return schema['description'] !== undefined || meaning === undefined ? schema : { ...schema, description: meaning };
}

/** Reads a TypeBox schema as the plain JSON Schema object that it is. */
function schemaOf(value: unknown): Json {
  return isJson(value) ? value : {};
}

function textsOf(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : [];
}
