import { t } from '../messages/en.ts';

/** The object that a text is, or what is wrong with it. */
export function objectIn(text: string): Record<string, unknown> | string {
  const value = valueIn(text);
  if (value === undefined) return t.approvals.invalidJson;
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return t.approvals.mustBeObject;
  return value as Record<string, unknown>; // told by the line before
}

/** The value that a text is as JSON; undefined: it is none. */
export function valueIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
