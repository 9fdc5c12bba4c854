import { RE2JS } from 're2js';

/** A pattern to read, and the text to search; null: the pattern is only read. */
export interface PatternJob {
  readonly pattern: string;
  /** Any of i, m and s. */
  readonly flags: string;
  readonly text: string | null;
}

/** Whether the pattern matches in the text; `unreadable` when RE2 does not support it (look-around, back-references). */
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
