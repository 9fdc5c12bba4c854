import { GitError } from './git-error.ts';
import type { Mirror } from './mirrors.ts';

/** Two commits. */
export interface CommitRange {
  readonly from: string;
  readonly to: string;
}

/** A file that differs between two commits. Counts are null for binary files. */
export interface ChangedFile {
  readonly path: string;
  readonly previousPath: string | null;
  readonly added: number | null;
  readonly removed: number | null;
}

const diffMs = 5 * 60_000;
const readMs = 2 * 60_000;
const maxListBytes = 16 * 1024 * 1024;
const shaForm = /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/;
const noPrograms = ['--no-color', '--no-ext-diff', '--no-textconv', '--find-renames', '--submodule=short'];

/**
 * Returns the changes between two commits in git's own format, for `decodePatch` and `parsePatch`; only those of `paths`, if there are any. Output beyond
 * `maxBytes` is truncated: `isTruncated`. Missing contents are fetched. Throws GitError.
 */
export async function diffBytes(
  mirror: Mirror,
  { from, to, paths = [], maxBytes }: CommitRange & { readonly paths?: readonly string[]; readonly maxBytes: number },
  signal: AbortSignal,
): Promise<{ readonly bytes: Buffer; readonly isTruncated: boolean }> {
  const form = ['--full-index', '--unified=3', '--src-prefix=a/', '--dst-prefix=b/'];
  const args = ['diff', ...noPrograms, ...form, ...range({ from, to }), '--', ...paths];
  return mirror.run(args, { signal, timeoutMs: diffMs, maxOutputBytes: maxBytes });
}

/** Returns names and sizes of the changes, without their text. Throws GitError, `too_large` for a list above 16 MB. */
export async function changedFiles(mirror: Mirror, { from, to }: CommitRange, signal: AbortSignal): Promise<ChangedFile[]> {
  const args = ['diff', ...noPrograms, '--numstat', '-z', ...range({ from, to }), '--'];
  const { bytes, isTruncated } = await mirror.run(args, { signal, timeoutMs: diffMs, maxOutputBytes: maxListBytes });
  if (isTruncated) throw new GitError('too_large', 'the list of changed files is too long');
  return readNumstat(bytes.toString());
}

/** Parses `--numstat -z`: `added TAB removed TAB path NUL`; for a rename the path is empty, and both names follow, each with NUL. */
export function readNumstat(text: string): ChangedFile[] {
  const parts = text.split('\0');
  const files: ChangedFile[] = [];
  for (let at = 0; at < parts.length; at += 1) {
    const [, added = '', removed = '', path = ''] = /^(-|\d+)\t(-|\d+)\t([\s\S]*)$/.exec(parts[at] ?? '') ?? [];
    if (added === '') continue;
    const counts = { added: countOf(added), removed: countOf(removed) };
    if (path !== '') files.push({ path, previousPath: null, ...counts });
    else files.push({ path: parts[(at += 2)] ?? '', previousPath: parts[at - 1] ?? '', ...counts });
  }
  return files;
}

/**
 * Returns the content of a file of a commit, up to `maxBytes`; null: there is no such file, or it is a folder or a submodule. A symbolic link yields its
 * target. Throws GitError.
 */
export async function readBlob(
  mirror: Mirror,
  { sha, path, maxBytes }: { readonly sha: string; readonly path: string; readonly maxBytes: number },
  signal: AbortSignal,
): Promise<{ readonly bytes: Buffer; readonly isTruncated: boolean } | null> {
  const entry = await treeEntry(mirror, { sha, path }, signal);
  if (entry === null) return null;
  return mirror.run(['cat-file', 'blob', entry], { signal, timeoutMs: readMs, maxOutputBytes: maxBytes });
}

async function treeEntry(mirror: Mirror, { sha, path }: { sha: string; path: string }, signal: AbortSignal): Promise<string | null> {
  // No tree has such a name; git would take it for a path on this machine.
  if (path.split('/').some((part) => part === '' || part === '.' || part === '..')) return null;
  const args = ['ls-tree', '-z', '--full-tree', commit(sha), '--', path];
  const { bytes } = await mirror.run(args, { signal, timeoutMs: readMs, maxOutputBytes: 64 * 1024 });
  const [, object] = /^\d+ blob ([0-9a-f]+)\t/.exec(bytes.toString()) ?? [];
  return object ?? null;
}

function range({ from, to }: CommitRange): [string, string] {
  return [commit(from), commit(to)];
}

/** A text that is no commit id could be an option, or name something else. */
function commit(sha: string): string {
  if (!shaForm.test(sha)) throw new GitError('failed', 'not the id of a commit');
  return sha;
}

function countOf(text: string): number | null {
  return text === '-' ? null : Number(text);
}
