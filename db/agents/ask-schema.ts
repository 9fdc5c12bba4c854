type Schema = Readonly<Record<string, unknown>>;

/** Longest list of attachments and longest task that one agent hands to another. */
const attachmentsSchema = {
  type: 'array',
  maxItems: 20,
  items: { type: 'string', maxLength: 36 },
  description: 'Ids of attachments to hand over',
} as const;

/**
 * What the model sends to ask an agent: a task in words, and with an agent that takes structured input that input instead or beside it.
 * `inputSchema` is the asked agent's own.
 */
export function askInputSchema(inputSchema: Schema | null): Schema {
  const task = { type: 'string', minLength: 1, maxLength: 65_536, description: 'What the other agent is to do, with all it needs to know' };
  if (inputSchema === null)
    return {
      type: 'object',
      properties: { task, input: { type: 'object', description: 'Structured input' }, attachments: attachmentsSchema },
      required: ['task'],
      additionalProperties: false,
    };
  return {
    type: 'object',
    properties: { task, input: moved(inputSchema, '#/properties/input'), attachments: attachmentsSchema },
    required: ['input'],
    additionalProperties: false,
  };
}

/** Keywords whose values are data and no schemas. */
const dataKeywords: ReadonlySet<string> = new Set(['const', 'enum', 'default', 'examples']);

/** Keywords whose keys are names that the author chose, no keywords. */
const mapsOfNames: ReadonlySet<string> = new Set(['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas']);

/** The schema as it reads within another document: its local references start at its new place. */
function moved(schema: Schema, place: string): Schema {
  return Object.fromEntries(
    Object.entries(schema).flatMap(([name, value]): [string, unknown][] => {
      // A dialect is named at the root alone.
      if (name === '$schema') return [];
      if (dataKeywords.has(name)) return [[name, value]];
      if (name === '$ref' && typeof value === 'string' && value.startsWith('#')) return [[name, `${place}${value.slice(1)}`]];
      if (mapsOfNames.has(name) && isSchema(value)) return [[name, movedEach(value, place)]];
      return [[name, movedValue(value, place)]];
    }),
  );
}

function movedEach(schemas: Schema, place: string): Schema {
  return Object.fromEntries(Object.entries(schemas).map(([name, value]) => [name, movedValue(value, place)]));
}

function movedValue(value: unknown, place: string): unknown {
  if (Array.isArray(value)) return value.map((item: unknown) => movedValue(item, place));
  return isSchema(value) ? moved(value, place) : value;
}

function isSchema(value: unknown): value is Schema {
  return value !== null && typeof value === 'object' && !Array.isArray(value);
}
