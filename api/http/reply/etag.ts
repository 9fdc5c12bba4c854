import { fail } from '../../../workflows/contracts/failure.ts';

const tagPattern = '(?:W/)?"[\\x21\\x23-\\x7e\\x80-\\xff]*"';
/** If-Match as RFC 9110 §13.1.1 writes it: `*` or a list of entity tags. */
export const ifMatchPattern = `^[ \\t]*(?:\\*|${tagPattern}(?:[ \\t]*,[ \\t]*${tagPattern})*)[ \\t]*$`;
const ifMatchSyntax = new RegExp(ifMatchPattern);
const tag = /(?:W\/)?"([^"]*)"/g;
/**
 * What a proxy that compresses adds to a tag, since RFC 9110 §8.8.3 wants one for each coding: `-gzip` (Apache), `-br`, `-zstd` (Caddy),
 * `--gzip` (Jetty), `;br` (LiteSpeed). No version of ours ends so.
 */
const codingSuffix = /[-;:+]{1,2}[a-z][a-z0-9_-]*$/i;

/** The strong entity tag of a row's version. */
export function etagOf(version: string | number): string {
  return `"${version}"`;
}

/**
 * If-Match as `*` or the versions that its list names; null when absent. Weakness marks count for nothing, and a tag that ends like a coding
 * also names what stands before it.
 */
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
  if (!ifMatchSyntax.test(header)) return null;
  if (header.trim() === '*') return '*';
  const given = [...header.matchAll(tag)].map(([, value = '']) => value);
  return [...new Set(given.flatMap((value) => [value, value.replace(codingSuffix, '')]))];
}
