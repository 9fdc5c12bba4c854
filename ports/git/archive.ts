import { GitError } from './git-error.ts';
import { remoteName } from './hardening.ts';
import type { Mirror } from './mirrors.ts';

const fetchMs = 8 * 60_000;
const listMs = 2 * 60_000;
const maxListBytes = 64 * 1024 * 1024;

/**
 * Returns all files of a commit as a tar archive (POSIX pax), for a sandbox. Objects that a partial mirror lacks are fetched beforehand, all at once. Throws
 * GitError, `too_large` for an archive above `maxBytes`.
 */
export async function archiveOf(
  mirror: Mirror,
  { sha, maxBytes }: { readonly sha: string; readonly maxBytes: number },
  signal: AbortSignal,
): Promise<Buffer> {
  if (!/^(?:[0-9a-f]{40}|[0-9a-f]{64})$/.test(sha)) throw new GitError('failed', 'not the id of a commit');
  await fetchMissing(mirror, sha, signal);
  const { bytes, isTruncated } = await mirror.run(['archive', '--format=tar', sha], {
    signal,
    timeoutMs: fetchMs,
    maxOutputBytes: maxBytes,
  });
  if (isTruncated) throw new GitError('too_large', 'the files of the commit are larger than the sandbox takes');
  return bytes;
}

/** `rev-list --missing=print` marks objects that the mirror lacks with `?`. */
async function fetchMissing(mirror: Mirror, sha: string, signal: AbortSignal): Promise<void> {
  const args = ['rev-list', '--objects', '--no-walk', '--no-object-names', '--missing=print', sha, '--'];
  const { bytes, isTruncated } = await mirror.run(args, { signal, timeoutMs: listMs, maxOutputBytes: maxListBytes });
  if (isTruncated) throw new GitError('too_large', 'the commit has too many files');
  const missing = bytes
    .toString()
    .split('\n')
    .filter((entry) => entry.startsWith('?'))
    .map((entry) => entry.slice(1));
  if (missing.length === 0) return;
  const options = ['--quiet', '--no-tags', '--no-write-fetch-head', '--no-recurse-submodules', '--no-auto-maintenance', '--stdin'];
  const input = `${missing.join('\n')}\n`;
  await mirror.run(['fetch', ...options, remoteName], { signal, timeoutMs: fetchMs, maxOutputBytes: 64 * 1024, input });
}
