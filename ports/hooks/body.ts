import { isTag, tagInexact, withoutTag } from '../../workflows/contracts/tools/exact-json.ts';
import { fail, invalid } from '../../workflows/contracts/failure.ts';
import { decodeBody, depthOf, groupPairs } from '../request-text.ts';
import { wellFormed } from './texts.ts';

const deepest = 64;

/**
 * Returns the body of a hook: JSON as its value, a form as its fields, anything else as text; null for an empty body. The rules are those for a stranger's
 * JSON, not for ours: a number that a double would change becomes its digits as text, U+0000 and lone surrogates become U+FFFD, `__proto__` is dropped. Throws
 * `malformed_request` for broken JSON, form or UTF-8, 422 `max_depth` over 64 levels.
 */
export function parseHookBody(bytes: Buffer, contentType: string | undefined): unknown {
  if (bytes.length === 0) return null;
  const text = decodeBody(bytes);
  const type = contentType?.split(';')[0]?.trim().toLowerCase() ?? '';
  if (type === 'application/x-www-form-urlencoded') return fieldsOf(text);
  if (type !== 'application/json' && !type.endsWith('+json')) return wellFormed(text);

  if (depthOf(text) > deepest) throw invalid('', 'max_depth', 'The body is nested too deeply.', { limit: deepest });
  return cleaned(parsed(text));
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(tagInexact(text, 'large'));
  } catch (cause) {
    throw fail('malformed_request', { detail: 'The body is not valid JSON.', cause });
  }
}

function cleaned(node: unknown): unknown {
  if (typeof node === 'string') return isTag(node) ? withoutTag(node) : wellFormed(node);
  if (Array.isArray(node)) return node.map(cleaned);
  if (typeof node !== 'object' || node === null) return node;
  const kept = Object.entries(node).filter(([key]) => key !== '__proto__');
  return Object.fromEntries(kept.map(([key, value]) => [wellFormed(key), cleaned(value)]));
}

/** A field that occurs once becomes its text, one that occurs more often the list of its texts. */
function fieldsOf(text: string): Record<string, string | string[]> {
  const fields = [...groupPairs(text)].filter(([name]) => name !== '__proto__');
  return Object.fromEntries(
    fields.map(([name, values]) => [wellFormed(name), values.length === 1 ? wellFormed(values[0] ?? '') : values.map(wellFormed)]),
  );
}
