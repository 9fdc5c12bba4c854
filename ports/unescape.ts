/** A stretch of a text; `to` is exclusive. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

/** Escapes of a character in JSON, JavaScript, URLs and HTML: `\u00e9`, `\xe9`, `\"`, `%C3%A9`, `&#233;`, `&eacute;` for the names below. */
const escapes =
  /(?:\\\\)+|\\(?:u[\da-f]{4}|x[\da-f]{2}|[^])|%[0-7][\da-f]|(?:%[89a-f][\da-f])+|&(?:#\d{1,7}|#x[\da-f]{1,6}|amp|lt|gt|quot|apos|sol|bsol|plus|equals);/gi;
/** A truncated escape, or a truncated multi-byte character in a URL; also one inside the other. */
const partialEscape =
  /(?:\\(?:u[\da-f]{0,3}|x[\da-f]?)?|(?:%[cd][\da-f]|%e[\da-f](?:%[\da-f]{2})?|%f[\da-f](?:%[\da-f]{2}){0,2})(?:%[\da-f]?)?|%[\da-f]?|&#?\w{0,8})+$/i;
const maxPartialChars = 32;

const controls: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t', b: '\b', f: '\f', v: '\v', 0: '\0' };
const named: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  sol: '/',
  bsol: '\\',
  plus: '+',
  equals: '=',
};

/** Removes one layer of escapes from a text; returns the same text when it has none. An escape that is truncated at the end stays. In linear time. */
export function unescapeOnce(text: string): string {
  if (!/[\\%&]/.test(text)) return text;
  const length = lengthBeforePartial(text);
  return text.slice(0, length).replaceAll(escapes, charactersOf) + text.slice(length);
}

/** Maps spans of an unescaped text, in order and without overlap, to the text that it was made from. */
export function spansBefore(text: string, spans: readonly Span[]): Span[] {
  const units = spans.flatMap(({ from, to }) => [from, to - 1]);
  const places: Span[] = [];
  let shift = 0; // of an offset after the escapes so far, from the unescaped text to the original
  for (const match of text.slice(0, lengthBeforePartial(text)).matchAll(escapes)) {
    const at = match.index - shift;
    const length = charactersOf(match[0]).length;
    for (let unit = units[places.length]; unit !== undefined && unit < at + length; unit = units[places.length])
      places.push(unit < at ? unitAt(unit + shift) : { from: match.index, to: match.index + match[0].length });
    if (places.length === units.length) break;
    shift += match[0].length - length;
  }
  while (places.length < units.length) places.push(unitAt((units[places.length] ?? 0) + shift));
  return spans.map((_span, at) => ({ from: places[2 * at]?.from ?? 0, to: places[2 * at + 1]?.to ?? 0 }));
}

/** Returns the length of a text without an escape that is truncated at its end. */
export function lengthBeforePartial(text: string): number {
  return text.length - (partialEscape.exec(text.slice(-maxPartialChars))?.[0].length ?? 0);
}

function unitAt(from: number): Span {
  return { from, to: from + 1 };
}

function charactersOf(escape: string): string {
  const digits = escape.slice(2);
  if (escape.startsWith('%'))
    return escape.length === 3 && escape < '%8'
      ? String.fromCharCode(hex(escape.slice(1)))
      : Buffer.from(escape.replaceAll('%', ''), 'hex').toString();
  if (escape.startsWith('\\\\')) return '\\'.repeat(escape.length / 2);
  if (escape.startsWith('\\')) return digits === '' ? (controls[escape.slice(1)] ?? escape.slice(1)) : String.fromCharCode(hex(digits));
  if (!escape.startsWith('&#')) return named[escape.slice(1, -1).toLowerCase()] ?? escape;
  const point = /^x/i.test(digits) ? hex(digits.slice(1)) : Number.parseInt(digits, 10);
  return point <= 0x10ffff ? String.fromCodePoint(point) : escape;
}

function hex(digits: string): number {
  return Number.parseInt(digits, 16);
}
