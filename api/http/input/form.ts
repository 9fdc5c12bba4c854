import type { TObject } from 'typebox';
import type { Violation } from '../../../workflows/contracts/failure.ts';
import { groupPairs } from '../../../ports/request-text.ts';
import { isForbiddenText } from './text-scan.ts';

/** The fields of a form body by the names that the schema declares, and their violations. */
export interface ParsedForm {
  readonly values: Record<string, string>;
  readonly violations: readonly Violation[];
}

/**
 * Reads `application/x-www-form-urlencoded` text for an OAuth operation: a field without a value counts as absent, an unknown one is ignored,
 * a declared one may stand once (RFC 6749 §3.2). A bad escape or bad UTF-8 throws `malformed_request`.
 */
export function parseForm(text: string, schema: TObject): ParsedForm {
  const values: Record<string, string> = {};
  const violations: Violation[] = [];

  for (const [name, texts] of groupPairs(text)) {
    if (!Object.hasOwn(schema.properties, name)) continue;
    const [value = ''] = texts;

    if (texts.length > 1) violations.push(violation(name, 'duplicate_parameter', 'must be given exactly once'));
    else if (isForbiddenText(value)) violations.push(violation(name, 'invalid_text', 'contains U+0000 or a lone surrogate'));
    else if (value !== '') values[name] = value;
  }
  return { values, violations };
}

function violation(name: string, rule: string, message: string): Violation {
  return { in: 'form', pointer: `/${name}`, name: null, rule, message };
}
