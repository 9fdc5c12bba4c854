import { fail } from '../workflows/contracts/failure.ts';

const strictUtf8 = new TextDecoder('utf-8', { fatal: true });

/** Decodes the bytes of a body. Throws `malformed_request` for invalid UTF-8; a byte order mark is skipped. */
export function decodeBody(bytes: Buffer): string {
  try {
    return strictUtf8.decode(bytes);
  } catch (cause) {
    throw fail('malformed_request', { detail: 'The body is not valid UTF-8.', cause });
  }
}

/** Returns the deepest nesting of a JSON text, by its brackets outside strings. */
export function depthOf(text: string): number {
  let depth = 0;
  let deepest = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === 0x22) at = endOfString(text, at);
    else if (code === 0x5b || code === 0x7b) deepest = Math.max(deepest, (depth += 1));
    else if (code === 0x5d || code === 0x7d) depth -= 1;
  }
  return deepest;
}

/** Returns names and values of a query string or form, each name once with its values in order. Throws `malformed_request`. */
export function groupPairs(raw: string): Map<string, string[]> {
  const groups = new Map<string, string[]>();
  if (raw === '') return groups;

  for (const part of raw.split('&')) {
    if (part === '') continue;
    const split = part.indexOf('=');
    const name = decode(split < 0 ? part : part.slice(0, split));
    const text = split < 0 ? '' : decode(part.slice(split + 1));
    const group = groups.get(name);
    if (group) group.push(text);
    else groups.set(name, [text]);
  }
  return groups;
}

function endOfString(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === 0x5c) at += 1;
    else if (code === 0x22) return at;
  }
  return text.length;
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch (cause) {
    throw fail('malformed_request', { detail: 'The query string contains an invalid escape.', cause });
  }
}
