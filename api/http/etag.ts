import { fail } from '../../workflows/contracts/failure.ts';

const tagList = /^[ \t]*(?:W\/)?"[\x21\x23-\x7e\x80-\xff]*"(?:[ \t]*,[ \t]*(?:W\/)?"[\x21\x23-\x7e\x80-\xff]*")*[ \t]*$/;
const tag = /(?:W\/)?"([^"]*)"/g;

/** The strong entity tag of a row's version. */
export function etagOf(version: string | number): string {
  return `"${version}"`;
}

/** If-Match as `*` or the bare tags of its list, without weakness marks and the suffix that a compressing proxy adds; null when absent. */
export function parseIfMatch(header: string | undefined): '*' | readonly string[] | null {
  if (header === undefined) return null;
  const tags = parseTags(header);
  if (tags) return tags;

  throw fail('validation_failed', {
    errors: [{ in: 'header', pointer: null, name: 'if-match', rule: 'pattern', message: 'must be * or a list of entity tags' }],
  });
}

/** Whether If-None-Match names the tag, so that a GET is answered 304. A header that can't be read matches nothing. */
export function isNotModified(header: string | undefined, etag: string): boolean {
  if (header === undefined) return false;
  const tags = parseTags(header);
  return tags === '*' || (tags?.includes(etag.slice(1, -1)) ?? false);
}

function parseTags(header: string): '*' | string[] | null {
  if (header.trim() === '*') return '*';
  if (!tagList.test(header)) return null;
  return [...header.matchAll(tag)].map(([, value = '']) => value.replace(/-gzip$/, ''));
}
