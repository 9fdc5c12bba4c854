import { RE2JS } from 're2js';

/** A pattern to be read, and the text that it is looked for in; null: it is read only. */
export interface PatternJob {
  readonly pattern: string;
  /** Of i, m and s. */
  readonly flags: string;
  readonly text: string | null;
}

/** Whether the pattern stands in the text; `unreadable` where RE2 has no such pattern (look-around, back-references). */
export type PatternReading = 'found' | 'missing' | 'unreadable';

/** Runs in a child of the pool: linear in the text, but not free. */
export function work({ pattern, flags, text }: PatternJob): PatternReading {
  const bits = [...flags].reduce((sum, flag) => sum | bitOf(flag), 0);
  let expression: RE2JS;
  try {
    expression = RE2JS.compile(RE2JS.translateRegExp(pattern), bits);
  } catch {
    return 'unreadable';
  }
  return text !== null && expression.matcher(text).find() ? 'found' : 'missing';
}

function bitOf(flag: string): number {
  switch (flag) {
    case 'i':
      return RE2JS.CASE_INSENSITIVE;
    case 'm':
      return RE2JS.MULTILINE;
    case 's':
      return RE2JS.DOTALL;
    default:
      return 0;
  }
}
