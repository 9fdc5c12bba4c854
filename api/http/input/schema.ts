import Type, { type Static, type TSchema, type TUnsafe } from 'typebox';

// A schema with `$id` is a component: nest it by value, the document builder lifts it to `$ref`.

export type IdKind =
  | 'Organization'
  | 'Workspace'
  | 'User'
  | 'Session'
  | 'ServiceKey'
  | 'Agent'
  | 'AgentRevision'
  | 'Persona'
  | 'Tool'
  | 'Toolkit'
  | 'ToolkitRevision'
  | 'Skill'
  | 'KnowledgeBase'
  | 'KnowledgeGrant'
  | 'KnowledgeItem'
  | 'KnowledgeSource'
  | 'KnowledgeRelation'
  | 'KnowledgeSource'
  | 'KnowledgeRun'
  | 'KnowledgeFinding'
  | 'Run'
  | 'Conversation'
  | 'Message'
  | 'ToolCall'
  | 'Approval'
  | 'AlertRule'
  | 'Alert'
  | 'Trigger'
  | 'Schedule'
  | 'ScheduleOccurrence'
  | 'ScheduleBackfill'
  | 'WebhookEndpoint'
  | 'WebhookDelivery'
  | 'EventTrigger'
  | 'Event'
  | 'Channel'
  | 'Evaluation'
  | 'RepoBinding'
  | 'Playbook'
  | 'PlaybookRevision'
  | 'Attachment'
  | 'Deprecation'
  | 'Impersonation'
  | 'Invitation'
  | 'Purge'
  | 'Secret'
  | 'AuditEntry'
  | 'Other';

/** An id in a schema, marked with the kind of row it names; every id in every schema is written so. */
export function idOf(kind: IdKind, description?: string) {
  return Type.String({ 'format': 'uuid', 'x-id-of': kind, ...(description ? { description } : {}) });
}

/** A closed object; `$id` makes it a component of the document. */
export function closed<const P extends Parameters<typeof Type.Object>[0]>(
  properties: P,
  options: { $id?: string; description?: string } = {},
) {
  return Type.Object(properties, { additionalProperties: false, ...options });
}

/** JSON Schema keywords that stand in the document alone. */
type Rule = Readonly<Record<string, unknown>>;

/**
 * A schema with a rule that the document states and a handler enforces, whose refusal says more than a validator's could. Of several rules for the whole, use
 * `allOf`.
 */
export function stating<S extends TSchema>(schema: S, rule: Rule): S {
  return { ...schema, 'x-stated': rule };
}

/** The rule that an object has exactly one of these fields; null counts as absent. */
export function exactlyOneOf(...names: readonly string[]): Rule {
  return { oneOf: names.map(given) };
}

/** The rule that an object has at least one of these fields. */
export function atLeastOneOf(...names: readonly string[]): Rule {
  return { anyOf: names.map((name) => ({ required: [name], properties: { [name]: {} } })) };
}

/** The part of a rule that a field is there and not null. */
export function given(name: string): Rule {
  return { required: [name], properties: { [name]: { not: { type: 'null' } } } };
}

/** The rule that whatever becomes superseded, and nothing else, names its successor. */
export function succession(state: string, successor: string): Rule {
  return {
    oneOf: [
      { ...given(successor), properties: { [state]: { const: 'superseded' }, [successor]: { not: { type: 'null' } } } },
      { properties: { [state]: { not: { const: 'superseded' } }, [successor]: { type: 'null' } } },
    ],
  };
}

/** What an `if` asks of an object, or a `then` adds to one that is closed elsewhere: open itself, so that whoever closes objects leaves it so. */
export function partOf(properties: Readonly<Record<string, unknown>>, more: Readonly<Record<string, unknown>> = {}) {
  return { type: 'object', properties, additionalProperties: true, ...more };
}

/** Nullable form of a schema: a type array for scalars, arrays and inline objects, `oneOf` with null for components and enums. */
export function nullable<S extends TSchema>(schema: S): TUnsafe<Static<S> | null> {
  const bare: Record<string, unknown> = schema as unknown as Record<string, unknown>; // TypeBox schemas are plain JSON Schema objects
  if (typeof bare['$id'] === 'string' || typeof bare['type'] !== 'string')
    return Type.Unsafe<Static<S> | null>({ oneOf: [schema, { type: 'null' }] });
  if (Array.isArray(bare['enum']))
    return Type.Unsafe<Static<S> | null>({ ...bare, type: [bare['type'], 'null'], enum: [...bare['enum'], null] });
  return Type.Unsafe<Static<S> | null>({ ...bare, type: [bare['type'], 'null'] });
}

/** A closed set of strings. `extensible` marks a set of ours that may grow. */
export function oneOf<const V extends readonly string[]>(
  values: V,
  options: { extensible?: boolean; description?: string; default?: V[number] } = {},
) {
  const { extensible, ...rest } = options;
  return Type.Unsafe<V[number]>({
    type: 'string',
    ...(extensible ? { 'x-extensible-enum': values, 'maxLength': 60 } : { enum: values }),
    ...rest,
  });
}

/** Arrays are bounded; 200 unless a note says otherwise. */
export function listOf<S extends TSchema>(
  items: S,
  options: { maxItems?: number; minItems?: number; uniqueItems?: boolean; description?: string; default?: Static<S>[] } = {},
) {
  return Type.Array(items, { maxItems: 200, ...options });
}

export const maxInteger = Number.MAX_SAFE_INTEGER;

/** A bounded integer; bounds default to 0 and 2^53−1. */
export function integer(options: { minimum?: number; maximum?: number; default?: number; description?: string } = {}) {
  return Type.Integer({ minimum: 0, maximum: maxInteger, ...options });
}

/** A bounded string. */
export function text(
  maxLength: number,
  options: { minLength?: number; pattern?: string; description?: string; default?: string; format?: string } = {},
) {
  return Type.String({ maxLength, ...options });
}

export const Slug = Type.String({ minLength: 1, maxLength: 120, pattern: '^[a-z0-9][a-z0-9._-]*$' });
export const Name = Type.String({ minLength: 1, maxLength: 200 });
export const Description = Type.String({ maxLength: 2_000 });
/** @public */
export const Text = Type.String({ maxLength: 100_000 });
export const Url = Type.String({ minLength: 1, maxLength: 2_048 });
export const Email = Type.String({ minLength: 3, maxLength: 254, format: 'email' });
export const Q = Type.String({ minLength: 1, maxLength: 200 });
export const Timestamp = Type.String({ format: 'date-time' });
export const Decimal = Type.String({ maxLength: 40, format: 'decimal' });
/** An amount of money as a caller sets it: at most 11 whole and 9 decimal digits, no sign, no exponent. */
export const Amount = Type.String({ maxLength: 21, pattern: '^(?:0|[1-9][0-9]{0,10})(?:\\.[0-9]{1,9})?$' });

/** An open object of at most 64 KiB serialized, depth 32, 1,000 keys an object; the bounds are checked by our validator. */
export const FreeObject = Type.Unsafe<Record<string, unknown>>({ 'type': 'object', 'additionalProperties': true, 'x-free-object': true });

/** Arguments of a tool, whose fractions of more than 17 digits are refused like those of an amount. */
export const ToolArguments = Type.Unsafe<Record<string, unknown>>({
  'type': 'object',
  'additionalProperties': true,
  'x-free-object': 'exact',
});

/** The bytes of a file, in a body of its own or as a part of a form. */
export function bytes(description: string) {
  return Type.String({ format: 'binary', maxLength: 536_870_912, description });
}

/** A body that is text and no JSON: a page, an event stream. */
export function plainText(description: string) {
  return Type.String({ maxLength: 10_000_000, description });
}

/** The creator of a row. */
export const ActorRef = closed(
  { kind: oneOf(['user', 'service_key', 'agent', 'system']), id: nullable(idOf('Other')) },
  { $id: 'Actor', description: 'Who did it' },
);
