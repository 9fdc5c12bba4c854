/** Front matter whose texts YAML will read completely, line for line as they are written, and warnings about what is read differently than YAML would. */
export interface PlainFrontMatter {
  readonly yaml: string;
  readonly warnings: readonly string[];
}

/** A key with its value, or an item of a list: indent and dashes, key, value. */
const entry = /^( *(?:- +)*)([^\s:#"'[\]{},&*!|>%@`-](?:[^:#"'[\]{}]*[^\s:#"'[\]{}])?|"[^"]*"|'[^']*')[ \t]*:(?:[ \t]+(.*))?$/;
const item = /^( *(?:- +)*- +)(.*)$/;
const blockHeader = /^[|>][-+0-9]{0,2}[ \t]*(?:#.*)?$/;
const quoted = /^(?:"(?:[^"\\]|\\.)*"|'(?:[^']|'')*')/;

/**
 * Front matter is written by hand, and its common readers take a value as the line says: `Use when X. Keywords: foo` is a text with a colon and `Fix issue #1`
 * is complete, where YAML refuses the former and truncates the latter. Such values are quoted here, on their own lines, before YAML reads the rest. A `#` with
 * white space on both sides begins a comment, as in YAML, and leads to a warning. Takes time linear in the text.
 *
 * @param firstLine Number of the first line in its file.
 */
export function plainFrontMatter(source: string, firstLine: number): PlainFrontMatter {
  const warnings: string[] = [];
  const lines = source.split('\n').map((line, at) => withoutTabs(line, () => warnings.push(`line ${firstLine + at}: a tab indents it`)));
  for (let at = 0; at < lines.length;) {
    const line = lines[at] ?? '';
    const [, lead = '', key = '', told = ''] = entry.exec(line) ?? [];
    const value = key === '' ? itemOf(line) : { lead, text: told.trim().replace(/^#(?:[ \t].*)?$/, ''), column: lead.length };
    const next = endOfValue(lines, at, value);
    const literal = value && literalOf([value.text, ...lines.slice(at + 1, next)]);
    const say = (words: string) => warnings.push(`line ${firstLine + at}: ${words}`);
    if (value && literal?.isTruncated) say('text after # is a comment and was omitted');
    if (value && literal && literal.text !== null) {
      say('YAML would read this text differently; it was kept verbatim');
      lines[at] = `${value.lead}${key === '' ? '' : `${key}: `}${JSON.stringify(literal.text)}`;
      lines.fill('', at + 1, next);
    }
    at = next;
  }
  return { yaml: lines.join('\n'), warnings };
}

interface Value {
  readonly lead: string;
  readonly text: string;
  /** Lines that are indented further belong to it. */
  readonly column: number;
}

/** Returns the value of a list item that is no key with a value. */
function itemOf(line: string): Value | null {
  const [, lead = '', text = ''] = item.exec(line) ?? [];
  return lead === '' || text.trim() === '' ? null : { lead, text: text.trim(), column: lead.search(/- +$/) };
}

/** Returns the index of the line after a value: for a plain text, a block and a quoted text after everything that belongs to it, otherwise the next line. */
function endOfValue(lines: readonly string[], at: number, value: Value | null): number {
  if (!value || value.text === '') return at + 1;
  const { text, column } = value;
  if (isOpen(text)) {
    // Quotes and brackets that close on a later line.
    const close = { '"': '"', "'": "'", '[': ']', '{': '}' }[text.charAt(0)] ?? '';
    const end = lines.findIndex((line, index) => index > at && line.includes(close));
    return end === -1 ? lines.length : end + 1;
  }
  let end = at + 1;
  for (let next = end; next < lines.length; next += 1) {
    const line = lines[next] ?? '';
    if (line.trim() === '') continue;
    if (line.search(/[^ ]/) <= column || (!blockHeader.test(text) && /^ *#/.test(line))) break;
    end = next + 1;
  }
  return end;
}

function isOpen(text: string): boolean {
  return /^["'[{]/.test(text) && closedPart(text) === null;
}

/** Returns the text of a value that YAML would read differently; null for one that it reads as written. */
function literalOf([first = '', ...more]: readonly string[]): { readonly text: string | null; readonly isTruncated: boolean } {
  if (blockHeader.test(first) || first === '' || isOpen(first)) return { text: null, isTruncated: false };
  const parts = [first, ...more].map((part) => part.trim());
  const whole = parts.map(withoutComment);
  const isTruncated = whole.some((part, at) => part !== parts[at]);
  if (isOdd(first)) return { text: folded(whole), isTruncated };
  if (closedPart(first) !== null || /^(?:[&!?*]|- )/.test(first)) return { text: null, isTruncated: false };
  return { text: whole.some((part) => /:(?:[ \t]|$)|[ \t]#/.test(part)) ? folded(whole) : null, isTruncated };
}

/** Whether the text begins in a way that no YAML value can, or not when text follows: `#channel`, `*bold* words`, `@name`, `"Quoted" words`, `[Beta] words`. */
function isOdd(text: string): boolean {
  if (/^[@`%]|^#\S|^&\s|^\*(?![\w-]+$)/.test(text)) return true;
  const closed = closedPart(text);
  return closed !== null && !/^[ \t]*(?:[ \t]#.*)?$/.test(text.slice(closed.length));
}

/** Returns a quoted text, or a list or map in brackets, up to its end; null for anything else, or when it does not end. */
function closedPart(text: string): string | null {
  if (!/^[[{]/.test(text)) return quoted.exec(text)?.[0] ?? null;
  let depth = 0;
  for (let at = 0; at < text.length; at += 1) {
    if ('[{'.includes(text.charAt(at))) depth += 1;
    if (']}'.includes(text.charAt(at))) depth -= 1;
    if (depth === 0) return text.slice(0, at + 1);
  }
  return null;
}

function withoutComment(text: string): string {
  return text.replace(/(?:^|[ \t])#(?:[ \t].*)?$/, '').trimEnd();
}

/** Joins the lines of one text: a blank one is a line break. */
function folded(lines: readonly string[]): string {
  return lines.reduce((text, line) => (line === '' ? `${text}\n` : `${text}${text === '' || text.endsWith('\n') ? '' : ' '}${line}`), '');
}

function withoutTabs(line: string, tell: () => void): string {
  const tabs = /^[ \t]*/.exec(line)?.[0] ?? '';
  if (!tabs.includes('\t') || tabs === line) return line;
  tell();
  return tabs.replaceAll('\t', '  ') + line.slice(tabs.length);
}
