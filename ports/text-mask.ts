import { lengthBeforePartial, spansBefore, unescapeOnce, type Span } from './unescape.ts';

/** Replaces registered values with their names, wherever and in whatever form a text contains them. */
export interface TextMask {
  /** Registers a value. One of fewer than 8 characters is not replaced: it would blot out half of any text. */
  readonly conceal: (name: string, value: string) => void;
  readonly mask: (text: string) => string;
  /** Whether any value was registered, even a short one. */
  readonly hasValues: () => boolean;
}

interface Form {
  readonly text: string;
  readonly name: string;
}

interface Forms {
  /** The longest first. */
  readonly all: readonly Form[];
  /** Matches the beginning of any of them: a text without a match holds none, and no part of one at its end. */
  readonly beginning: RegExp;
}

interface NamedSpan extends Span {
  readonly name: string;
}

const minLength = 8;
/** Length of the beginning by which a long form is searched first. */
const probeLength = 32;
/** Characters that may be compared in vain before a text counts as hostile. */
const comparedMax = 32 * 1024 * 1024;
/** Layers of escapes that are removed: JSON in JSON in a URL in HTML, and the text itself. */
const maxLayers = 4;

/** Creates a mask whose values become `[secret:name]`, or what `label` returns for their names. */
export function createTextMask(label: (name: string) => string = (name) => `[secret:${name}]`): TextMask {
  const known = new Map<string, string>();
  let forms: Forms | null = null;
  let hasValues = false;

  return {
    conceal(name, value) {
      hasValues = true;
      if (value.length < minLength) return;
      for (const form of formsOf(value)) known.set(form, label(name));
      const all = [...known].map(([text, shown]) => ({ text, name: shown }));
      const beginnings = new Set(
        all.map(({ text }) =>
          text.slice(0, minLength).replaceAll(/[^\w]/g, (tx) => `\\u${tx.charCodeAt(0).toString(16).padStart(4, '0')}`),
        ),
      );
      forms = {
        all: all.toSorted((left, right) => right.text.length - left.text.length),
        beginning: new RegExp([...beginnings].join('|')),
      };
    },
    mask: (text) => (forms === null || text.length < minLength ? text : masked(text, forms)),
    hasValues: () => hasValues,
  };
}

/** Returns a JSON value with its texts, names and numbers masked. */
export function maskJson(node: unknown, mask: (text: string) => string): unknown {
  if (typeof node === 'string') return mask(node);
  if (typeof node === 'number') {
    const text = String(node);
    const shown = mask(text);
    return shown === text ? node : shown;
  }
  if (Array.isArray(node)) return node.map((item: unknown) => maskJson(item, mask));
  if (node === null || typeof node !== 'object') return node;
  return Object.fromEntries(Object.entries(node).map(([key, value]) => [mask(key), maskJson(value, mask)]));
}

/** Searches the text as it is and below each layer of its escapes, in any combination; matches are replaced where they are. */
function masked(text: string, forms: Forms): string {
  const layers = [text];
  let found: readonly NamedSpan[] = [];
  for (let top = 0; ; top += 1) {
    let spans = spansOf(layers[top] ?? '', forms);
    if (spans.length === 1 && isWhole(spans[0], layers[top])) return spans[0]?.name ?? '';
    for (let below = top - 1; below >= 0 && spans.length > 0; below -= 1) {
      const before = spansBefore(layers[below] ?? '', spans);
      spans = joined(spans.map(({ name }, at) => ({ name, from: before[at]?.from ?? 0, to: before[at]?.to ?? 0 })));
    }
    found = joined([...found, ...spans]);
    const next = top < maxLayers ? unescapeOnce(layers[top] ?? '') : layers[top];
    if (next === undefined || next === layers[top]) break;
    layers.push(next);
  }
  const parts = found.map(({ from, name }, at) => text.slice(found[at - 1]?.to ?? 0, from) + name);
  return found.length === 0 ? text : parts.join('') + text.slice(found.at(-1)?.to);
}

function isWhole(span: Span | undefined, text: string | undefined): boolean {
  return span?.from === 0 && span.to === text?.length;
}

/** Returns the spans in order, with overlapping ones merged, under the name of the one that begins first, or of two such the longer one. */
function joined(spans: readonly NamedSpan[]): NamedSpan[] {
  const apart: NamedSpan[] = [];
  for (const span of spans.toSorted((left, right) => left.from - right.from || right.to - left.to)) {
    const last = apart.at(-1);
    if (last === undefined || span.from >= last.to) apart.push(span);
    else if (span.to > last.to) apart[apart.length - 1] = { ...last, to: span.to };
  }
  return apart;
}

function spansOf(text: string, { all, beginning }: Forms): NamedSpan[] {
  if (!beginning.test(text)) return [];
  const whole = text.slice(0, lengthBeforePartial(text));
  const spans: NamedSpan[] = [];
  for (const form of all) for (const { from, to } of placesOf(text, form.text)) spans.push({ from, to, name: form.name });
  // A truncated text may end within a value: the part that is there is replaced too.
  for (const form of all) {
    const length = tailLength(whole, form.text);
    if (length >= minLength) spans.push({ from: whole.length - length, to: text.length, name: form.name });
  }
  return joined(spans);
}

/**
 * Returns where a form occurs. Long ones are searched by their beginning: a hostile text that nearly contains a long value everywhere would take minutes. In a
 * text with too many near matches to compare in time, the form counts as being everywhere.
 */
function placesOf(text: string, form: string): Span[] {
  const probe = form.slice(0, probeLength);
  const places: Span[] = [];
  let compared = 0;
  for (let at = text.indexOf(probe); at !== -1; at = text.indexOf(probe, at)) {
    if (text.startsWith(form, at)) {
      places.push({ from: at, to: at + form.length });
      at += form.length;
    } else {
      compared += form.length;
      if (compared > comparedMax) return [{ from: 0, to: text.length }];
      at += 1;
    }
  }
  return places;
}

/** Returns the length of the longest proper prefix of a form with which a text ends. In linear time (Knuth, Morris, Pratt 1977). */
function tailLength(text: string, form: string): number {
  const tail = text.slice(Math.max(0, text.length - form.length + 1));
  if (!tail.includes(form.slice(0, minLength))) return 0;

  const known = new Int32Array(form.length); // the longest border of each prefix of the form
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

/**
 * Returns the forms in which a value is found, besides its escapes: HTTP trims it, a form writes its spaces as `+`, JSON readers round a long number, a reader
 * decodes it with the wrong charset, and Base64, hexadecimal digits or UTF-16 contain the value or its JSON.
 */
function formsOf(value: string): string[] {
  const bytes = Buffer.from(value);
  const inUtf16 = Buffer.from(value, 'utf16le');
  const json = JSON.stringify(value).slice(1, -1);
  const texts = [value, value.trim(), value.replaceAll(' ', '+'), bytes.toString('latin1'), new TextDecoder('windows-1252').decode(bytes)];
  const forms = [
    ...texts,
    // Where one layer of a text mixes two kinds of escapes, both are removed at once, including sequences of the value that only look like escapes.
    ...texts.map(unescapedWhole),
    ...[bytes, Buffer.from(json)].flatMap((held) => [held.toString('hex'), held.toString('hex').toUpperCase(), ...base64Of(held)]),
    inUtf16.toString('latin1'),
    Buffer.from(inUtf16).swap16().toString('latin1'),
    ...(/^\d+$/.test(value) ? [String(Number(value))] : []),
  ];
  return [...new Set(forms)].filter((form) => form.length >= minLength);
}

function unescapedWhole(text: string): string {
  let whole = text;
  for (let layer = 0; layer < maxLayers; layer++) whole = unescapeOnce(whole);
  return whole;
}

function base64Of(bytes: Buffer): string[] {
  return [0, 1, 2].flatMap((before) => base64Within(bytes, before));
}

/** Returns the Base64 of bytes that follow `before` others, without the ends that depend on their neighbours; in both alphabets. */
function base64Within(bytes: Buffer, before: number): string[] {
  const behind = Buffer.concat([Buffer.alloc(before), bytes]);
  const [from, to] = [Math.ceil((before * 8) / 6), Math.floor((behind.length * 8) / 6)];
  return [behind.toString('base64').slice(from, to), behind.toString('base64url').slice(from, to)];
}
