/**
 * Numbers of JSON that a double would change. JSON has no bounds for numbers (RFC 8259 §6); readers that keep them as IEEE 754 doubles, ours among them, agree
 * on integers up to 2^53 only (RFC 7493 §2.2). A number is *inexact* here when its double, written in its shortest form, is a different decimal:
 * 1234567890123456789 is inexact; 1e22, 0.1 and -0 are not, nor is 0.10000000000000001, which is how some programs write the double 0.1.
 */

/** A double never changes a number of so few digits, unless it is too large or too small for a double. */
const harmlessLength = 15;
const minNormal = 2 ** -1022;
/** 17 significant digits tell any two doubles apart, and many programs write all 17: a fraction with no more digits is taken as a double (IEEE 754 §5.12.2). */
const doubleDigits = 17;
const numberForm = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;
const tagStart = '\u0000number:';
/** A tag as JSON writes it: a whole value, neither the end of a longer text nor a name. */
const tagInText = /(?<!\\)"\\u0000number:(-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)"(?!:)/g;

/**
 * `large`: inexact numbers from 2^53 on and those beyond every double; only these can be identifiers, and smaller fractions are rounded as everywhere. `all`,
 * for amounts and tool arguments: also fractions of more than 17 digits.
 */
export type InexactNumbers = 'large' | 'all';

/** Returns the first inexact number in a JSON text as it is written, or null without one. Takes time linear in the length of the text. */
export function findInexact(text: string, which: InexactNumbers): string | null {
  let found: string | null = null;
  eachInexact(text, which, (literal) => {
    found = literal;
    return false;
  });
  return found;
}

/**
 * Returns the JSON text with a tag, which is a string, in place of each inexact number, or the text itself when there is none. Parsers, pointers and walks
 * take a tag like any other value; `exactText` restores the number. A tag begins with U+0000, which users' texts can't hold. Numbers after the first `maxTags`
 * are left as they are.
 */
export function tagInexact(text: string, which: InexactNumbers, maxTags = Infinity): string {
  let tagged = '';
  let from = 0;
  let count = 0;
  eachInexact(text, which, (literal, at) => {
    tagged += `${text.slice(from, at)}"\\u0000number:${literal}"`;
    from = at + literal.length;
    count += 1;
    return count < maxTags;
  });
  return from === 0 ? text : tagged + text.slice(from);
}

/** Whether a string is the tag of a number. */
export function isTag(value: string): boolean {
  return value.startsWith(tagStart);
}

/** Returns the number of a tag as it is written; any other string unchanged. */
export function withoutTag(value: string): string {
  return isTag(value) ? value.slice(tagStart.length) : value;
}

/** Returns a value as JSON, with the numbers in place of their tags. */
export function exactText(value: unknown): string {
  const text = JSON.stringify(value);
  return text.includes('"\\u0000number:') ? text.replaceAll(tagInText, '$1') : text;
}

/** Returns a value with the nearest doubles in place of its tags, for callers that only measure it. */
export function rounded(value: unknown): unknown {
  if (typeof value === 'string') return isTag(value) ? Number(withoutTag(value)) : value;
  if (Array.isArray(value)) return value.map(rounded);
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, rounded(inner)]));
}

/** Keywords of JSON Schema whose numbers are bounds: the nearest double serves as well, since no accepted number lies between. */
const boundKeywords: ReadonlySet<string> = new Set(['maximum', 'minimum', 'exclusiveMaximum', 'exclusiveMinimum', 'multipleOf']);

/**
 * Removes the tags from a document with foreign schemas, in place, because a copy would multiply what YAML aliases share. A bound becomes the nearest double,
 * or is deleted when it is beyond all doubles; any other such number (a choice, a default, an example) becomes its text, so that it is never taken for its
 * neighbour.
 */
export function untagSchemas<T>(document: T): T {
  const seen = new Set<unknown>();
  for (const waiting: unknown[] = [document]; waiting.length > 0;) {
    const node = waiting.pop();
    if (node === null || typeof node !== 'object' || seen.has(node)) continue;
    seen.add(node);
    for (const [key, inner] of Object.entries(node)) {
      if (typeof inner !== 'string') waiting.push(inner);
      else if (isTag(inner)) setUntagged(node, key, inner);
    }
  }
  return document;
}

function setUntagged(node: object, key: string, tag: string): void {
  const text = withoutTag(tag);
  if (!boundKeywords.has(key)) Reflect.set(node, key, text);
  else if (Number.isFinite(Number(text))) Reflect.set(node, key, Number(text));
  else Reflect.deleteProperty(node, key);
}

/** Returns the tag of an inexact number as it is written, or null for any other text. */
export function tagOf(literal: string, which: InexactNumbers): string | null {
  return numberForm.test(literal) && isInexact(literal, which) ? tagStart + literal : null;
}

/** Whether a number, as it is written in JSON, is inexact. */
export function isInexact(literal: string, which: InexactNumbers): boolean {
  const number = Number(literal);
  if (!Number.isFinite(number)) return true;
  if (number === 0) return decimalOf(literal).digits !== '';
  if (which === 'large' && Math.abs(number) < 2 ** 53) return false;
  if (mantissaLength(literal) <= harmlessLength && Math.abs(number) >= minNormal) return false;
  const shortest = String(number);
  if (literal === shortest || literal === '-0') return false;
  if (isPlain(literal) && isPlain(shortest)) return true;
  const [written, kept] = [decimalOf(literal), decimalOf(shortest)];
  const isOther = written.digits !== kept.digits || (written.digits !== '' && written.exponent !== kept.exponent);
  return isOther && (Math.abs(number) >= 2 ** 53 || written.digits.length > doubleDigits);
}

/** Whether it has digits only, with an optional sign: then equal numbers are equal texts. */
function isPlain(literal: string): boolean {
  for (let at = literal.startsWith('-') ? 1 : 0; at < literal.length; at += 1) if (!isDigit(literal.charCodeAt(at))) return false;
  return true;
}

/** Returns the significant digits and the power of ten of the last one; zero has no digits. */
function decimalOf(literal: string): { readonly digits: string; readonly exponent: number } {
  const length = mantissaLength(literal);
  const mantissa = literal.slice(literal.startsWith('-') ? 1 : 0, length);
  const point = mantissa.indexOf('.');
  const fraction = point < 0 ? 0 : mantissa.length - point - 1;
  const all = point < 0 ? mantissa : mantissa.slice(0, point) + mantissa.slice(point + 1);
  let [start, end] = [0, all.length];
  while (all.charCodeAt(start) === 0x30) start += 1;
  while (end > start && all.charCodeAt(end - 1) === 0x30) end -= 1;
  const exponent = length < literal.length ? Number(literal.slice(length + 1)) : 0;
  return { digits: all.slice(start, end), exponent: exponent - fraction + all.length - end };
}

/** Length of the part before the exponent. */
function mantissaLength(literal: string): number {
  for (let at = 0; at < literal.length; at += 1) if (isExponentMark(literal.charCodeAt(at))) return at;
  return literal.length;
}

/** Calls `take` for each inexact number outside strings until it returns false. Cheaper than parsing the text, since it skips strings. */
function eachInexact(text: string, which: InexactNumbers, take: (literal: string, at: number) => boolean): void {
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === 0x22) at = endOfString(text, at);
    else if (code === 0x2d || isDigit(code)) {
      const end = endOfNumber(text, at);
      const literal = text.slice(at, isDoubtful(text, at, end) ? end : at);
      if (literal !== '' && numberForm.test(literal) && isInexact(literal, which) && !take(literal, at)) return;
      at = end - 1;
    }
  }
}

/** Returns the position of the quotation mark that ends the string, or the length of the text. */
function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    let backslashes = 0;
    while (text.charCodeAt(end - 1 - backslashes) === 0x5c) backslashes += 1;
    if (backslashes % 2 === 0) return end;
  }
  return text.length;
}

function isDoubtful(text: string, at: number, end: number): boolean {
  if (end - at > harmlessLength) return true;
  for (let place = at; place < end; place += 1) if (isExponentMark(text.charCodeAt(place))) return true;
  return false;
}

function endOfNumber(text: string, start: number): number {
  let end = start + 1;
  while (isOfNumber(text.charCodeAt(end))) end += 1;
  return end;
}

/** Digits, `.`, `e`, `E`, `+`, `-`. */
function isOfNumber(code: number): boolean {
  return isDigit(code) || code === 0x2e || isExponentMark(code) || code === 0x2b || code === 0x2d;
}

function isExponentMark(code: number): boolean {
  return code === 0x65 || code === 0x45;
}

function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39;
}
