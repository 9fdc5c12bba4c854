/** The drafts of JSON Schema that are read, each by its own rules. */
export type SchemaDialect = 'draft-04' | 'draft-06' | 'draft-07' | '2019-09' | '2020-12';

type Schema = Readonly<Record<string, unknown>>;

/** What counts for a schema that names no draft, or one that nobody knows. */
const newest = '2020-12';

/** Names of `$schema` without their scheme, with which people take liberties, and without an empty fragment. */
const dialects: ReadonlyMap<string, SchemaDialect> = new Map([
  ['json-schema.org/draft-04/schema', 'draft-04'],
  ['json-schema.org/draft-06/schema', 'draft-06'],
  ['json-schema.org/draft-07/schema', 'draft-07'],
  ['json-schema.org/draft/2019-09/schema', '2019-09'],
  ['json-schema.org/draft/2020-12/schema', newest],
  ['json-schema.org/schema', newest],
]);

/** The draft by whose rules a schema is read, and whether its `$schema` is one that nobody knows. */
export function dialectOf(schema: Schema): { readonly dialect: SchemaDialect; readonly isUnknown: boolean } {
  const named = schema['$schema'];
  if (named === undefined) return { dialect: newest, isUnknown: false };
  const known =
    typeof named === 'string'
      ? dialects.get(
          named
            .trim()
            .replace(/^https?:\/\//, '')
            .replace(/#$/, ''),
        )
      : undefined;
  return { dialect: known ?? newest, isUnknown: known === undefined };
}

/** What is said of a schema with an unknown `$schema`; it is read all the same. */
export const unknownDialect = 'the $schema is not one of the drafts 04, 06, 07, 2019-09 and 2020-12: it is read as 2020-12';

/** Keywords whose values are data and no schemas. */
export const dataKeywords: ReadonlySet<string> = new Set(['const', 'enum', 'default', 'examples', 'required']);

/** Keywords whose keys are names that the author chose, no keywords. */
export const mapsOfNames: ReadonlySet<string> = new Set([
  'properties',
  'patternProperties',
  '$defs',
  'definitions',
  'dependencies',
  'dependentSchemas',
  'dependentRequired',
]);

/** The schema with `change` applied to it, and then to every schema that stands in the outcome. `change` gives a new object or the same one. */
export function mapSchema(schema: Schema, change: (node: Schema) => Schema): Record<string, unknown> {
  const mapped = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(mapped);
    return isSchema(value) ? mapSchema(value, change) : value;
  };
  return Object.fromEntries(
    Object.entries(change(schema)).map(([keyword, value]): [string, unknown] => {
      if (dataKeywords.has(keyword)) return [keyword, value];
      if (!mapsOfNames.has(keyword) || !isSchema(value)) return [keyword, mapped(value)];
      return [keyword, Object.fromEntries(Object.entries(value).map(([name, child]) => [name, mapped(child)]))];
    }),
  );
}

/**
 * A schema of any draft in the words of 2020-12, without `$schema` and the name of the whole: what models are shown, whose providers take nothing
 * else, and what may stand within another schema. Bounds of draft-04 become numbers, lists of items `prefixItems`.
 */
export function inNewestDialect(schema: Schema): Record<string, unknown> {
  const { dialect } = dialectOf(schema);
  const { $schema: _dialect, $id: _id, ...rest } = schema;
  if (dialect === newest) return rest;
  const { id, ...unnamed } = rest;
  const whole = dialect === 'draft-04' && typeof id === 'string' ? unnamed : rest;
  return mapSchema(whole, (node) => withPrefixItems(dialect === 'draft-04' ? withNumericBounds(node) : node));
}

/** JSON Schema draft-04 §5.1.2 f.: `exclusiveMinimum` is a boolean that says how `minimum` is meant. */
function withNumericBounds(node: Schema): Schema {
  const changed: Record<string, unknown> = { ...node };
  for (const [bound, exclusive] of [
    ['minimum', 'exclusiveMinimum'],
    ['maximum', 'exclusiveMaximum'],
  ] as const) {
    if (typeof node[exclusive] !== 'boolean') continue;
    delete changed[exclusive];
    if (!node[exclusive] || node[bound] === undefined) continue;
    changed[exclusive] = node[bound];
    delete changed[bound];
  }
  return changed;
}

/** JSON Schema 2020-12, release notes: lists in `items` became `prefixItems`, what holds for further ones `items`. */
function withPrefixItems(node: Schema): Schema {
  const { items, additionalItems, ...rest } = node;
  if (!Array.isArray(items)) return additionalItems === undefined || items === undefined ? node : { ...rest, items };
  return { ...rest, prefixItems: items, ...(additionalItems === undefined ? {} : { items: additionalItems }) };
}

function isSchema(value: unknown): value is Schema {
  return value !== null && typeof value === 'object' && !Array.isArray(value);
}
