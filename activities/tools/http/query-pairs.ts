import type { Pair } from './parameter-styles.ts';

/** Returns a URL with pairs appended to its query, which stays as it is written. */
export function withPairs(url: string, pairs: readonly Pair[]): string {
  if (pairs.length === 0) return url;
  const { href } = new URL(url);
  const [before = '', ...fragment] = href.split('#');
  const mark = !before.includes('?') ? '?' : /[?&]$/.test(before) ? '' : '&';
  return [before + mark + pairs.map(([name, value]) => `${name}=${value}`).join('&'), ...fragment].join('#');
}

/** Returns a URL without the pairs of this name, however they are encoded; all others stay as they are written. */
export function withoutName(url: string, name: string): string {
  const { href, search } = new URL(url);
  if (search === '') return href;
  const kept = search
    .slice(1)
    .split('&')
    .filter((pair) => !new URLSearchParams(pair).has(name));
  return href.replace(search, () => (kept.length === 0 ? '' : `?${kept.join('&')}`));
}

/** Encodes a pair as forms do (application/x-www-form-urlencoded): a space is `+`. */
export function formPair(name: string, value: string): Pair {
  const encoded = (text: string) => new URLSearchParams([[text, '']]).toString().slice(0, -1);
  return [encoded(name), encoded(value)];
}
