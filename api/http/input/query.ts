import type { TObject } from 'typebox';
import type { Violation } from '../../../workflows/contracts/failure.ts';
import { groupPairs } from '../../../ports/request-text.ts';
import { isForbiddenText } from './text-scan.ts';

type Scalar = string | number | boolean;

export interface ParsedQuery {
  readonly values: Record<string, unknown>;
  readonly violations: readonly Violation[];
}

interface Declared {
  readonly type?: string;
  readonly items?: { readonly type?: string };
}

const integer = /^(?:0|-?[1-9]\d{0,15})$/;
const number = /^-?(?:0|[1-9]\d{0,15})(?:\.\d{1,15})?$/;

/**
 * Reads a query string by the declared types: integers and booleans in one spelling only, arrays by repeated key. A repeated scalar, an
 * undeclared key (unless `isOpen`) and an empty value are violations; a bad escape or bad UTF-8 throws `malformed_request`.
 */
export function parseQuery(raw: string, schema: TObject, options: { isOpen: boolean }): ParsedQuery {
  const values: Record<string, unknown> = {};
  const violations: Violation[] = [];
  const given = groupPairs(raw);

  for (const [name, texts] of given) {
    const declared = declaredAt(schema, name);
    if (!declared) {
      if (!options.isOpen) violations.push(violation(name, 'unknown_parameter', 'is not a parameter of this operation'));
      continue;
    }
    const isArray = declared.type === 'array';
    if (!isArray && texts.length > 1) violations.push(violation(name, 'duplicate_parameter', 'must be given exactly once'));
    else if (texts.some((text) => text === '')) violations.push(violation(name, 'minLength', 'must not be empty'));
    else if (texts.some(isForbiddenText)) violations.push(violation(name, 'invalid_text', 'contains U+0000 or a lone surrogate'));
    else values[name] = isArray ? texts.map((text) => convert(text, declared.items?.type)) : convert(texts[0] ?? '', declared.type);
  }
  return { values, violations };
}

/** A text as the type that a schema declares; text that isn't in the type's one spelling stays text, so that validation refuses it. */
export function convert(text: string, type: string | undefined): Scalar {
  if (type === 'integer' && integer.test(text)) return Number(text);
  if (type === 'number' && number.test(text)) return Number(text);
  if (type === 'boolean' && (text === 'true' || text === 'false')) return text === 'true';
  return text;
}

function declaredAt(schema: TObject, name: string): Declared | null {
  if (!Object.hasOwn(schema.properties, name)) return null;
  // A TypeBox schema is a plain JSON Schema object.
  return schema.properties[name] as Declared;
}

function violation(name: string, rule: string, message: string): Violation {
  return { in: 'query', pointer: null, name: name.slice(0, 200), rule, message };
}
