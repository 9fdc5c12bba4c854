import { formTexts } from './form-messages.ts';

/** What a text of JSON stands for, or why it stands for nothing. */
export function readJson(text: string): { readonly value: unknown; readonly problem: string | null } {
  try {
    return { value: JSON.parse(text), problem: null };
  } catch (error) {
    return { value: undefined, problem: formTexts.notJson(error instanceof Error ? error.message : String(error)) };
  }
}

/** The list that a text is as JSON; null: it is none. */
export function listIn(text: string): unknown[] | null {
  const { value } = readJson(text);
  return Array.isArray(value) ? value : null;
}

export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
