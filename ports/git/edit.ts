import { isPlainPath } from '../diff/plain-path.ts';
import { GitError } from './git-error.ts';
import type { Mirror } from './mirrors.ts';

/** A file in a commit. */
export interface TreeFile {
  /** `100644` or `100755`; other entries (links, submodules) are not files. */
  readonly mode: string;
  readonly bytes: Buffer;
}

/** The new content of a file in a commit; null removes it. */
export interface FileEdit {
  readonly path: string;
  readonly bytes: Buffer | null;
}

/** A commit to create. The same values yield the same id, wherever and however often it is created. */
export interface NewCommit {
  readonly parent: string;
  readonly edits: readonly FileEdit[];
  readonly message: string;
  readonly author: { readonly name: string; readonly email: string };
  /** When the commit was requested, not when it is created. */
  readonly at: Date;
}

const readMs = 2 * 60_000;
const maxTreeBytes = 16 * 1024 * 1024;
const shaForm = /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/;

interface TreeEntry {
  readonly mode: string;
  readonly type: string;
  readonly sha: string;
  readonly name: string;
}

/** Edits below a folder of a tree, by the next segment of their path. */
type Edits = Map<string, FileEdit['bytes'] | Edits>;

/**
 * Creates a commit from the mirror's objects, without a checkout, an index or a file that the repository names. Files keep their mode, new ones are `100644`; a
 * link, a submodule or a folder is not edited. Throws GitError `failed` for such a path.
 */
export async function makeCommit(mirror: Mirror, { parent, edits, message, author, at }: NewCommit, signal: AbortSignal): Promise<string> {
  const root = await line(mirror, ['rev-parse', '--verify', '--end-of-options', `${commit(parent)}^{tree}`], signal);
  const tree = (await rewrite(mirror, root, byFolder(edits), signal)) ?? root;
  const who = `${author.name.replaceAll(/[<>\n]/g, '')} <${author.email.replaceAll(/[<>\n]/g, '')}> ${Math.floor(at.getTime() / 1_000)} +0000`;
  const text = `tree ${tree}\nparent ${parent}\nauthor ${who}\ncommitter ${who}\n\n${message.trim()}\n`;
  return line(mirror, ['hash-object', '-t', 'commit', '-w', '--stdin'], signal, text);
}

/** Returns a file of a commit; null when there is none at this path, it is not a plain file, or it exceeds `maxBytes`. Throws GitError. */
export async function readFileAt(
  mirror: Mirror,
  { sha, path, maxBytes }: { readonly sha: string; readonly path: string; readonly maxBytes: number },
  signal: AbortSignal,
): Promise<TreeFile | null> {
  if (!isPlainPath(path)) return null;
  const listed = await mirror.run(['ls-tree', '-z', '--full-tree', commit(sha), '--', path], {
    signal,
    timeoutMs: readMs,
    maxOutputBytes: 64 * 1024,
  });
  const entry = entriesOf(listed.bytes.toString()).find(({ name, mode }) => name === path && isFileMode(mode));
  if (entry === undefined) return null;
  const { bytes, isTruncated } = await mirror.run(['cat-file', 'blob', entry.sha], { signal, timeoutMs: readMs, maxOutputBytes: maxBytes });
  return isTruncated ? null : { mode: entry.mode, bytes };
}

/** Returns the file as text; null also for a file that is binary or not UTF-8, which would not survive the round trip. */
export async function readTextAt(
  mirror: Mirror,
  file: { readonly sha: string; readonly path: string; readonly maxBytes: number },
  signal: AbortSignal,
): Promise<string | null> {
  const found = await readFileAt(mirror, file, signal);
  if (found === null || found.bytes.includes(0)) return null;
  const text = found.bytes.toString('utf8');
  return Buffer.from(text).equals(found.bytes) ? text : null;
}

function isFileMode(mode: string): boolean {
  return mode === '100644' || mode === '100755';
}

function byFolder(edits: readonly FileEdit[]): Edits {
  const root: Edits = new Map();
  for (const { path, bytes } of edits) {
    if (!isPlainPath(path)) throw new GitError('failed', 'a path can not be that of a file');
    const parts = path.split('/');
    const name = parts.pop() ?? '';
    let folder = root;
    for (const part of parts) {
      const below = folder.get(part) ?? new Map();
      if (!(below instanceof Map)) throw new GitError('failed', 'a path is both a file and a folder');
      folder.set(part, below);
      folder = below;
    }
    if (folder.get(name) instanceof Map) throw new GitError('failed', 'a path is both a file and a folder');
    folder.set(name, bytes);
  }
  return root;
}

/** Returns the tree with its edits; null: nothing is left in it. */
async function rewrite(mirror: Mirror, tree: string | null, edits: Edits, signal: AbortSignal): Promise<string | null> {
  const entries = new Map(tree === null ? [] : (await listTree(mirror, tree, signal)).map((entry) => [entry.name, entry]));
  for (const [name, edit] of edits) {
    const present = entries.get(name);
    if (edit instanceof Map) {
      if (present !== undefined && present.type !== 'tree') throw new GitError('failed', 'a folder of the path is none in the commit');
      const sha = await rewrite(mirror, present?.sha ?? null, edit, signal);
      if (sha === null) entries.delete(name);
      else entries.set(name, { mode: '040000', type: 'tree', sha, name });
      continue;
    }
    if (present !== undefined && !isFileMode(present.mode)) throw new GitError('failed', 'the path is no plain file in the commit');
    if (edit === null) entries.delete(name);
    else
      entries.set(name, {
        mode: present?.mode ?? '100644',
        type: 'blob',
        sha: await line(mirror, ['hash-object', '-w', '--stdin'], signal, edit),
        name,
      });
  }
  if (entries.size === 0) return null;
  const listed = [...entries.values()].map(({ mode, type, sha, name }) => `${mode} ${type} ${sha}\t${name}\0`).join('');
  return line(mirror, ['mktree', '-z', '--missing'], signal, listed);
}

async function listTree(mirror: Mirror, tree: string, signal: AbortSignal): Promise<TreeEntry[]> {
  const { bytes, isTruncated } = await mirror.run(['ls-tree', '-z', tree], { signal, timeoutMs: readMs, maxOutputBytes: maxTreeBytes });
  if (isTruncated) throw new GitError('too_large', 'a folder has too many entries');
  return entriesOf(bytes.toString());
}

/** Parses `ls-tree -z`: `mode SP type SP object TAB path NUL`. */
function entriesOf(text: string): TreeEntry[] {
  return text
    .split('\0')
    .filter(Boolean)
    .map((entry) => {
      const [, mode = '', type = '', sha = '', name = ''] = /^(\d+) (\w+) ([0-9a-f]+)\t([\s\S]*)$/.exec(entry) ?? [];
      return { mode, type, sha, name };
    });
}

async function line(mirror: Mirror, args: readonly string[], signal: AbortSignal, input?: string | Buffer): Promise<string> {
  const { bytes } = await mirror.run(args, { signal, timeoutMs: readMs, maxOutputBytes: 4_096, ...(input === undefined ? {} : { input }) });
  const sha = bytes.toString().trim();
  if (!shaForm.test(sha)) throw new GitError('failed', `git ${args[0]} gave no id`);
  return sha;
}

function commit(sha: string): string {
  if (!shaForm.test(sha)) throw new GitError('failed', 'not the id of a commit');
  return sha;
}
