/**
 * Decodes a path as git prints it: as it is, or in double quotes with C escapes when it holds quotes, control characters or (unless `core.quotePath` is false)
 * bytes over 0x7f (git-config(1), `core.quotePath`).
 */
export function unquotePath(text: string): string {
  return text.startsWith('"') && text.endsWith('"') && text.length > 1 ? unescapePath(text.slice(1, -1)) : text;
}

/** Returns the path of a line `--- a/x` or `+++ b/x`; null for `/dev/null`. Git appends a tab to a path with blanks. */
export function pathOfHeader(text: string): string | null {
  const path = unquotePath(text.endsWith('\t') ? text.slice(0, -1) : text);
  return path === '/dev/null' ? null : withoutPrefix(path);
}

/**
 * Returns both paths of `diff --git a/x b/y`, null where the line is ambiguous. Git prints them without quotes although they may hold blanks; the line is
 * unambiguous only where both are the same, and in all other cases other lines of the header name them.
 */
export function readHeaderPaths(header: string): readonly [string | null, string | null] {
  if (header.includes('"')) return quotedPair(header);
  const middle = (header.length - 1) / 2;
  const left = header.slice(0, middle);
  const right = header.slice(middle + 1);
  if (header[middle] !== ' ' || withoutPrefix(left) !== withoutPrefix(right)) return [null, null];
  return [withoutPrefix(left), withoutPrefix(right)];
}

function quotedPair(header: string): readonly [string | null, string | null] {
  const match = quotedHeader.exec(header);
  if (match === null) return [null, null];
  const [, left = '', right = ''] = match;
  return [withoutPrefix(unquotePath(left)), withoutPrefix(unquotePath(right))];
}

function withoutPrefix(path: string): string {
  return path.startsWith('a/') || path.startsWith('b/') ? path.slice(2) : path;
}

function unescapePath(text: string): string {
  const bytes: Buffer[] = [];
  let at = 0;
  for (const match of text.matchAll(escape)) {
    bytes.push(Buffer.from(text.slice(at, match.index)), byteOf(match[1] ?? ''));
    at = match.index + match[0].length;
  }
  bytes.push(Buffer.from(text.slice(at)));
  return Buffer.concat(bytes).toString();
}

function byteOf(code: string): Buffer {
  return Buffer.of(namedBytes.get(code) ?? (/^[0-7]/u.test(code) ? Number.parseInt(code, 8) : code.charCodeAt(0)));
}

const escape = /\\([0-7]{3}|.)/gsu;
const quotedHeader = /^("(?:[^"\\]|\\.)*"|\S.*?) ("(?:[^"\\]|\\.)*"|b\/.*)$/su;
const namedBytes: ReadonlyMap<string, number> = new Map([
  ['a', 7],
  ['b', 8],
  ['t', 9],
  ['n', 10],
  ['v', 11],
  ['f', 12],
  ['r', 13],
]);
