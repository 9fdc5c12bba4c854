import type { ToolFile, ToolOutcome } from './outcome.ts';

/** What a call has learned of secrets, and how it keeps them from everybody else. */
export interface SecretMask {
  /** Value of a named secret; from then on it is masked. */
  readonly secret: (name: string) => Promise<string | null>;
  /** Masks also what was made of a secret: a token, an encoded pair. */
  readonly conceal: (name: string, value: string) => void;
  readonly mask: (text: string) => string;
  readonly maskOutcome: (outcome: ToolOutcome) => ToolOutcome;
}

/** Shorter values would blot out half of any text. */
const leastLength = 8;
/** So much of the beginning of a long form is looked for first. */
const probeLength = 32;
/** Characters that may be compared in vain before a text counts as made for it. */
const comparedMax = 32 * 1024 * 1024;

/** Remembers every value that `resolve` gives and replaces it by `[secret:name]`, also where it stands encoded. */
export function createSecretMask(resolve: (name: string) => Promise<string | null>): SecretMask {
  const known = new Map<string, string>();
  let byLength: readonly (readonly [string, string])[] = [];

  const conceal = (name: string, value: string): void => {
    if (value.length < leastLength) return;
    for (const form of formsOf(value)) known.set(form, `[secret:${name}]`);
    byLength = [...known].toSorted(([left], [right]) => right.length - left.length);
  };
  const mask = (text: string): string => {
    const whole = byLength.reduce((left, [form, name]) => replaceForm(left, form, name), text);
    return byLength.reduce((left, [form, name]) => cutTail(left, form, name), whole);
  };

  return {
    async secret(name) {
      const value = await resolve(name);
      if (value !== null) conceal(name, value);
      return value;
    },
    conceal,
    mask,
    maskOutcome: (outcome) => (byLength.length === 0 ? outcome : maskedOutcome(outcome, mask)),
  };
}

function maskedOutcome(outcome: ToolOutcome, mask: (text: string) => string): ToolOutcome {
  if (outcome.status !== 'succeeded') return { ...outcome, error: { ...outcome.error, message: mask(outcome.error.message) } };
  switch (outcome.type) {
    case 'text':
      return { ...outcome, text: mask(outcome.text) };
    case 'json':
      return { ...outcome, value: maskedJson(outcome.value, mask) };
    case 'files':
      return { ...outcome, text: mask(outcome.text), files: outcome.files.map((file) => maskedFile(file, mask)) };
    default:
      return outcome satisfies never;
  }
}

/** Latin-1 keeps every byte, so a value within bytes is replaced and all else stays as it was. */
function maskedFile(file: ToolFile, mask: (text: string) => string): ToolFile {
  const text = file.bytes.toString('latin1');
  const masked = mask(text);
  return { ...file, name: mask(file.name), bytes: masked === text ? file.bytes : Buffer.from(masked, 'latin1') };
}

function maskedJson(node: unknown, mask: (text: string) => string): unknown {
  if (typeof node === 'string') return mask(node);
  if (typeof node === 'number') {
    const text = String(node);
    const masked = mask(text);
    return masked === text ? node : masked;
  }
  if (Array.isArray(node)) return node.map((item: unknown) => maskedJson(item, mask));
  if (node === null || typeof node !== 'object') return node;
  return Object.fromEntries(Object.entries(node).map(([key, value]) => [mask(key), maskedJson(value, mask)]));
}

/** The ways in which a server's echo may write a value; HTTP trims it, and JSON readers round a long number. */
function formsOf(value: string): string[] {
  const bytes = Buffer.from(value);
  const percent = encodeURIComponent(value.toWellFormed());
  const json = JSON.stringify(value).slice(1, -1);
  const forms = [
    value,
    value.trim(),
    percent,
    percent.replaceAll(/%../g, (code) => code.toLowerCase()),
    new URLSearchParams({ v: value }).toString().slice(2),
    json,
    json.replaceAll('/', String.raw`\/`),
    json.replaceAll(/[^\x20-\x7e]/g, unicodeEscape),
    json.replaceAll(/[<>&]|[^\x20-\x7e]/g, unicodeEscape),
    value.replaceAll(/[&<>"']/g, (mark) => htmlNames[mark] ?? mark),
    bytes.toString('latin1'),
    bytes.toString('hex'),
    bytes.toString('hex').toUpperCase(),
    ...[0, 1, 2].flatMap((before) => base64Within(bytes, before)),
    ...(/^\d+$/.test(value) ? [String(Number(value))] : []),
  ];
  return [...new Set(forms)].filter((form) => form.length >= leastLength);
}

const htmlNames: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };

function unicodeEscape(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

/** What Base64 makes of bytes behind `before` others, but for the ends that depend on their neighbours; in both alphabets. */
function base64Within(bytes: Buffer, before: number): string[] {
  const behind = Buffer.concat([Buffer.alloc(before), bytes]);
  const [from, to] = [Math.ceil((before * 8) / 6), Math.floor((behind.length * 8) / 6)];
  return [behind.toString('base64').slice(from, to), behind.toString('base64url').slice(from, to)];
}

/**
 * Replaces a form wherever it stands. Long ones are looked for by their beginning: a text that nearly holds a long value everywhere, made for
 * it, would take minutes. One that begins like it too often to be told apart in time is masked as a whole.
 */
function replaceForm(text: string, form: string, name: string): string {
  if (form.length <= probeLength) return text.replaceAll(form, () => name);
  const probe = form.slice(0, probeLength);
  const parts: string[] = [];
  let from = 0;
  let compared = 0;
  for (let at = text.indexOf(probe); at !== -1; at = text.indexOf(probe, at)) {
    if (text.startsWith(form, at)) {
      parts.push(text.slice(from, at), name);
      at += form.length;
      from = at;
    } else {
      compared += form.length;
      if (compared > comparedMax) return name;
      at += 1;
    }
  }
  return from === 0 ? text : parts.join('') + text.slice(from);
}

/** A text that was cut may end within a value: what of it is there goes too. In linear time (Knuth, Morris, Pratt 1977). */
function cutTail(text: string, form: string, name: string): string {
  const length = overlapOf(form, text.slice(1 - form.length));
  return length < leastLength ? text : text.slice(0, -length) + name;
}

/** The length of the longest beginning of a form with which a text that is shorter than it ends. */
function overlapOf(form: string, tail: string): number {
  const known = new Int32Array(form.length); // the longest border of each beginning of the form
  let length = 0;
  const step = (code: number) => {
    while (length > 0 && form.charCodeAt(length) !== code) length = known[length - 1] ?? 0;
    if (form.charCodeAt(length) === code) length += 1;
  };
  for (let at = 1; at < form.length; at++) {
    step(form.charCodeAt(at));
    known[at] = length;
  }
  length = 0;
  for (let at = 0; at < tail.length; at++) step(tail.charCodeAt(at));
  return length;
}
