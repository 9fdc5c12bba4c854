import type { Json } from './schemas.ts';
import { partOf } from '../input/schema.ts';

/** One value of the property that tells the variants of an object apart, and the object as it is with that value. */
export interface Variant {
  readonly value: string;
  readonly schema: Json;
}

/**
 * Takes an object apart whose `allOf` gives some property another form for each value of one property (`if` that value, `then` that form):
 * one closed object for each value, named after it. Validators read the conditions faster and tell faults better; people and code generators
 * read named variants. Null for every other schema.
 */
export function variantsOf(schema: Json): { readonly tag: string; readonly variants: readonly Variant[] } | null {
  const { allOf: conditions, ...base } = schema;
  if (!Array.isArray(conditions) || typeof base['$id'] !== 'string') return null;
  const cases = conditions.map((condition) => caseOf(asObject(condition)));
  const [first] = cases;
  if (!first || cases.some((each) => each?.tag !== first.tag)) return null;
  return { tag: first.tag, variants: cases.flatMap((each) => (each ? [{ value: each.value, schema: variantOf(base, each) }] : [])) };
}

interface Case {
  readonly tag: string;
  readonly value: string;
  readonly consequence: Json;
  /** If it matches, the form of the value is not required. */
  readonly unless: Json | null;
}

function caseOf(condition: Json): Case | null {
  const { if: asked, then } = condition;
  for (const [tag, schema] of Object.entries(asObject(asObject(asked)['properties']))) {
    const value = asObject(schema)['const'];
    const unless = asObject(asked)['not'];
    if (typeof value === 'string')
      return { tag, value, consequence: asObject(then), unless: unless === undefined ? null : asObject(unless) };
  }
  return null;
}

function variantOf(base: Json, { tag, value, consequence, unless }: Case): Json {
  const properties = asObject(base['properties']);
  const tagSchema: Json = { type: 'string', enum: [value] };
  const demanded = asTexts(consequence['required']);
  const required = [...asTexts(base['required']), ...(unless === null ? demanded : [])];
  const formed = asObject(consequence['properties']);
  const [form] = Object.values(formed).map(asObject);

  return {
    ...base,
    $id: `${String(base['$id'])}${pascal(value)}`,
    title: value,
    ...(typeof form?.['description'] === 'string' ? { description: form['description'] } : {}),
    properties: {
      ...properties,
      [tag]: tagSchema,
      ...(unless === null ? formed : mapOf(formed, (name, own) => eitherOf(own, unless, name))),
    },
    required,
    // What is demanded unless: neither may be missing at once. Said without anyOf, which code generators take for a choice of types.
    ...(unless !== null && demanded.length > 0
      ? { not: { allOf: [{ not: unless }, { not: partOf(formed, { required: demanded }) }] } }
      : {}),
  };
}

/** The form of a property, or what the exception allows in its place where the form itself does not take that. */
function eitherOf(form: Json, unless: Json, name: string): Json {
  const allowed = asObject(unless['properties'])[name];
  return allowed === undefined || asTexts(form['required']).length === 0 ? form : { oneOf: [form, asObject(allowed)] };
}

function mapOf(object: Json, change: (name: string, value: Json) => Json): Json {
  return Object.fromEntries(Object.entries(object).map(([name, value]) => [name, change(name, asObject(value))]));
}

function pascal(text: string): string {
  return text.replaceAll(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

function asTexts(value: unknown): string[] {
  return Array.isArray(value) ? value.map(String) : [];
}

function asObject(value: unknown): Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? Object.fromEntries(Object.entries(value)) : {};
}
