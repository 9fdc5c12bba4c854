/** What a provider said when it refused a call or broke it off: its message and its error code. */
export interface ProviderMessage {
  /** An HTTP status inside the error; null without one. */
  readonly status: number | null;
  readonly code: string | null;
  /** As it arrived, not yet redacted; empty without a message. */
  readonly message: string;
}

const maxDepth = 5;
const maxParts = 5;
const maxChars = 4_000;

/** Returns the message of an error body: JSON in any of the shapes that servers use, an HTML page, or plain text. Null without one. */
export function wordsInText(text: string): ProviderMessage | null {
  const trimmed = text.trim();
  if (trimmed === '') return null;
  const value = parsedJson(trimmed);
  if (value !== undefined) return wordsIn(value);

  const message = trimmed.startsWith('<') ? textOfPage(trimmed) : trimmed.slice(0, maxChars);
  return message === '' ? null : { status: null, code: null, message };
}

/** Returns the message of an error that is parsed already. Null for a value that names no error. */
export function wordsIn(value: unknown): ProviderMessage | null {
  const message = sentenceOf(value, 0);
  const layers = layersOf(value);
  const code = layers.flatMap((layer) => [layer['code'], layer['type'], layer['error_type'], layer['__type']]).find(isCode);
  const status = layers
    .flatMap((layer) => [layer['status'], layer['statusCode'], layer['status_code'], layer['code']])
    .map(Number)
    .find((part) => Number.isInteger(part) && part >= 400 && part <= 599);
  if (message === null && code === undefined && status === undefined) return null;
  return { status: status ?? null, code: code === undefined ? null : String(code), message: message ?? '' };
}

/** Returns the message of an error without an envelope of any protocol, as gateways and small servers send it; null for a value that is no error. */
export function bareError(value: unknown): ProviderMessage | null {
  const fields = record(Array.isArray(value) ? value[0] : value);
  if (!fields) return null;
  const isNamed = fields['object'] === 'error' || [fields['error'], fields['detail'], fields['errors']].some(isReported);
  const isAlone = typeof fields['message'] === 'string' && ('code' in fields || Object.keys(fields).length === 1);
  return isNamed || isAlone ? (wordsIn(value) ?? { status: null, code: null, message: '' }) : null;
}

/** Whether the field holds an error: `error: null`, `{}` and `""` in good chunks say that there is none. */
export function isReported(error: unknown): boolean {
  if (typeof error === 'object') return error !== null && Object.keys(error).length > 0;
  return typeof error === 'string' && error !== '';
}

/** Returns an object as a record that can be read by any key; null for any other value. */
export function record(value: unknown): Readonly<Record<string, unknown>> | null {
  return value !== null && typeof value === 'object' && !Array.isArray(value) ? (value as Record<string, unknown>) : null; // see above
}

/** Returns a JSON value; undefined for text that is not JSON. */
export function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const wordKeys = [
  'error',
  'message',
  'Message',
  'detail',
  'msg',
  'error_message',
  'error_description',
  'errors',
  'response',
  'data',
  'title',
];

function sentenceOf(value: unknown, depth: number): string | null {
  if (depth > maxDepth) return null;
  if (typeof value === 'string') return sentenceOfText(value, depth);
  if (Array.isArray(value)) return sentenceOfList(value, depth);
  const object = record(value);
  if (!object) return null;

  const found = wordKeys.map((key) => sentenceOf(object[key], depth + 1)).find((sentence) => sentence !== null) ?? null;
  // OpenRouter says "Provider returned error" and puts the provider's own message beside it.
  const raw = sentenceOf(record(object['metadata'])?.['raw'], depth + 1);
  return raw === null ? found : [found, raw].filter((part) => part !== null).join(': ');
}

/** Gateways pass on a whole body as the text of their own message. */
function sentenceOfText(text: string, depth: number): string | null {
  const trimmed = text.trim();
  if (trimmed === '') return null;
  const inner = trimmed.startsWith('{') || trimmed.startsWith('[') ? parsedJson(trimmed) : undefined;
  return sentenceOf(typeof inner === 'object' ? inner : null, depth + 1) ?? trimmed.slice(0, maxChars);
}

/** FastAPI lists what is wrong and where, and repeats the input beside it, which is left out. */
function sentenceOfList(list: readonly unknown[], depth: number): string | null {
  const parts = list.slice(0, maxParts).flatMap((entry) => {
    const sentence = sentenceOf(entry, depth + 1);
    const place = record(entry)?.['loc'];
    return sentence === null ? [] : [Array.isArray(place) ? `${place.join('.')}: ${sentence}` : sentence];
  });
  return parts.length === 0 ? null : parts.join('; ');
}

/** Returns the objects in which code and status may be, the innermost error first. */
function layersOf(value: unknown): Readonly<Record<string, unknown>>[] {
  const outer = record(Array.isArray(value) ? value[0] : value);
  if (!outer) return [];
  const inner = [outer['error'], record(outer['response'])?.['error'], record(outer['data'])?.['error'], outer['detail']].flatMap(layersOf);
  return [...inner, outer];
}

function isCode(value: unknown): boolean {
  return (typeof value === 'string' && value !== '' && value !== 'error') || typeof value === 'number';
}

/** Returns the title and first heading of a page, as proxies send it; its whole text where it has neither. */
function textOfPage(html: string): string {
  const page = html.slice(0, 20_000);
  const titles = [...page.matchAll(/<(title|h1)[^>]*>([^<]{1,300})/gi)].map((match) => (match[2] ?? '').trim());
  const words = [...new Set(titles.filter((title) => title !== ''))];
  return words.length > 0
    ? words.join(': ')
    : page
        .replaceAll(/<[^>]*>/g, ' ')
        .replaceAll(/\s+/g, ' ')
        .trim()
        .slice(0, 300);
}
