/** The supported drafts of JSON Schema; each is read by its own rules. */
export type SchemaDialect = 'draft-04' | 'draft-06' | 'draft-07' | '2019-09' | '2020-12';

type Schema = Readonly<Record<string, unknown>>;

/** Applies to a schema that names no draft, or an unknown one. */
const newest = '2020-12';

/** Values of `$schema` without their scheme, which authors write in several ways, and without an empty fragment. */
const dialects: ReadonlyMap<string, SchemaDialect> = new Map([
  ['json-schema.org/draft-04/schema', 'draft-04'],
  ['json-schema.org/draft-06/schema', 'draft-06'],
  ['json-schema.org/draft-07/schema', 'draft-07'],
  ['json-schema.org/draft/2019-09/schema', '2019-09'],
  ['json-schema.org/draft/2020-12/schema', newest],
  ['json-schema.org/schema', newest],
]);

/** Returns the draft by whose rules a schema is read, and whether its `$schema` is unknown. */
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

/** The remark on a schema with an unknown `$schema`, which is read all the same. */
export const unknownDialect = 'the $schema is not one of the drafts 04, 06, 07, 2019-09 and 2020-12: it is read as 2020-12';

/** Keywords whose values are data rather than schemas. */
export const dataKeywords: ReadonlySet<string> = new Set(['const', 'enum', 'default', 'examples', 'required']);

/** Keywords whose keys are names that the author chose rather than keywords. */
export const mapsOfNames: ReadonlySet<string> = new Set([
  'properties',
  'patternProperties',
  '$defs',
  'definitions',
  'dependencies',
  'dependentSchemas',
  'dependentRequired',
]);

/** Applies `change` to the schema, then to every schema within the result. `change` returns a new object or the same one. */
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
 * Converts a schema of any draft to 2020-12, without `$schema` and without the id of the whole: the form that models are shown, since their providers take
 * nothing else, and that may stand within another schema. Bounds of draft-04 become numbers, and lists in `items` become `prefixItems`.
 */
export function inNewestDialect(schema: Schema): Record<string, unknown> {
  const { dialect } = dialectOf(schema);
  const { $schema: _dialect, $id: _id, ...rest } = schema;
  if (dialect === newest) return rest;
  const { id, ...unnamed } = rest;
  const whole = dialect === 'draft-04' && typeof id === 'string' ? unnamed : rest;
  return mapSchema(whole, (node) => withPrefixItems(dialect === 'draft-04' ? withNumericBounds(node) : node));
}

/** JSON Schema draft-04 §5.1.2 f.: `exclusiveMinimum` is a boolean that modifies `minimum`. */
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

/** JSON Schema 2020-12, release notes: a list in `items` became `prefixItems`, and the schema of further items became `items`. */
function withPrefixItems(node: Schema): Schema {
  const { items, additionalItems, ...rest } = node;
  if (!Array.isArray(items)) return additionalItems === undefined || items === undefined ? node : { ...rest, items };
  return { ...rest, prefixItems: items, ...(additionalItems === undefined ? {} : { items: additionalItems }) };
}

function isSchema(value: unknown): value is Schema {
  return value !== null && typeof value === 'object' && !Array.isArray(value);
}
