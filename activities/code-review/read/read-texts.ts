import type { Mirror } from '../../../ports/git/mirrors.ts';

const readMs = 2 * 60_000;
const maxAllBytes = 48 * 1024 * 1024;

/**
 * Returns the texts of files of a commit by path, with one git process. Omits files that do not exist, are not text, or are longer than `maxBytes`, and
 * everything after 48 MB. Throws GitError.
 */
export async function readTexts(
  mirror: Mirror,
  { sha, paths, maxBytes }: { readonly sha: string; readonly paths: readonly string[]; readonly maxBytes: number },
  signal: AbortSignal,
): Promise<Map<string, string>> {
  // The input has one name per line.
  const asked = paths.filter((path) => path !== '' && !path.includes('\n'));
  if (asked.length === 0) return new Map();
  const input = Buffer.from(asked.map((path) => `${sha}:${path}\n`).join(''));
  const { bytes } = await mirror.run(['cat-file', '--batch'], { signal, timeoutMs: readMs, maxOutputBytes: maxAllBytes, input });
  return readBatch(bytes, { asked, maxBytes });
}

/** Parses the output of `git cat-file --batch`: `<object> SP <type> SP <size> LF <contents> LF`, or `<name> SP missing LF`, in the order of the names. */
function readBatch(
  bytes: Buffer,
  { asked, maxBytes }: { readonly asked: readonly string[]; readonly maxBytes: number },
): Map<string, string> {
  const texts = new Map<string, string>();
  let at = 0;
  for (const path of asked) {
    const end = bytes.indexOf(10, at);
    if (end === -1) break;
    const [, type, size] = /^[0-9a-f]+ (\w+) (\d+)$/.exec(bytes.toString('latin1', at, end)) ?? [];
    at = end + 1;
    if (size === undefined) continue;
    const content = bytes.subarray(at, at + Number(size));
    at += Number(size) + 1;
    if (at > bytes.length + 1) break;
    if (type === 'blob' && content.length <= maxBytes && !content.includes(0)) texts.set(path, content.toString());
  }
  return texts;
}
