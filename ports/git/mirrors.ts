import { mkdir, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { MirrorSettings } from '../github/settings.ts';
import { GitError } from './git-error.ts';
import { remoteName } from './hardening.ts';
import { dropMirror, dropTrash, listMirrors, makeMirror, sizeOf, touchMirror } from './mirror-folder.ts';
import { runGit, type GitCommand, type GitOutput } from './run-git.ts';
import { gitVersion } from './version.ts';

export type CloneMode = 'partial' | 'shallow' | 'full';

/** A repository and the token to read it. */
export interface MirrorTarget {
  /** Names the mirror: the binding's id. */
  readonly bindingId: string;
  /** `https://github.com/owner/name.git`, without credentials. */
  readonly url: string;
  /** Returns a token; a new one when the host has refused the last. */
  readonly token: (signal: AbortSignal, isNew: boolean) => Promise<string>;
  readonly clone: CloneMode;
  /** Maximum size of the mirror on disk. */
  readonly maxBytes: number;
}

/** A mirror that was opened for one review. */
export interface Mirror {
  readonly folder: string;
  /** Runs git with permission to fetch missing objects. */
  run(args: readonly string[], options: MirrorRunOptions): Promise<GitOutput>;
}

export interface MirrorRunOptions {
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
  readonly maxOutputBytes: number;
  readonly input?: string | Buffer;
  readonly expected?: readonly number[];
}

/** Bare mirrors on the disk of this worker: a cache of bounded size, shared with other workers of the machine. */
export interface Mirrors {
  /** Throws GitError. */
  open(target: MirrorTarget): Promise<Mirror>;
  /** Removes idle mirrors: those unused for `unusedMs` or with too many packs, then the least recently used while all are too large; returns how many. */
  sweep(unusedMs: number): Promise<number>;
}

const watchMs = 500;
const maxPacks = 200;

export function createMirrors({ folder: root, maxBytes }: MirrorSettings): Mirrors {
  return {
    async open(target) {
      await gitVersion();
      await mkdir(root, { recursive: true, mode: 0o700 });
      const folder = await makeMirror(root, target.bindingId, configOf(target.clone));
      await touchMirror(folder);
      return { folder, run: (args, options) => runBounded(folder, target, { args, ...options }) };
    },
    async sweep(unusedMs) {
      await dropTrash(root);
      const mirrors = await listMirrors(root);
      const old = mirrors.filter(({ usedAtMs, packs }) => Date.now() - usedAtMs > unusedMs || packs > maxPacks);
      const dropped = await Promise.all(old.map((mirror) => dropMirror(root, mirror)));
      return dropped.filter(Boolean).length + (await makeRoom(maxBytes));
    },
  };

  /** Removes idle mirrors, the least recently used first, until the total is less than `wanted`; returns how many. */
  async function makeRoom(wanted: number): Promise<number> {
    const mirrors = await listMirrors(root);
    let total = mirrors.reduce((sum, { bytes }) => sum + bytes, 0);
    let dropped = 0;
    for (const mirror of mirrors) {
      if (total <= wanted) break;
      if (!(await dropMirror(root, mirror))) continue;
      total -= mirror.bytes;
      dropped += 1;
    }
    return dropped;
  }

  /** Whether all mirrors together exceed their limit even after idle ones have been removed. */
  async function isFull(): Promise<boolean> {
    if ((await sizeOf(root)).bytes <= maxBytes) return false;
    await makeRoom(maxBytes * 0.9);
    return (await sizeOf(root)).bytes > maxBytes;
  }

  /** Requests one new token if the host refuses the first. */
  async function runBounded(folder: string, target: MirrorTarget, options: MirrorRunOptions & { readonly args: readonly string[] }) {
    await touchMirror(folder);
    if (options.args[0] === 'fetch') await makeRoom(maxBytes * 0.9);
    const attempt = async (isNew: boolean) => {
      const auth = { url: target.url, token: await target.token(options.signal, isNew) };
      return watched(folder, target, { ...options, folder, auth, maxFileBytes: target.maxBytes });
    };
    try {
      return await attempt(false);
    } catch (error) {
      if (!(error instanceof GitError && error.kind === 'refused')) throw error;
      return attempt(true);
    }
  }

  /** Runs a command until the mirror, or all of them, exceed their limit. An unfinished pack is removed as well. */
  async function watched(folder: string, target: MirrorTarget, command: GitCommand): Promise<GitOutput> {
    const over = new AbortController();
    const timer = setInterval(() => void check().catch(() => undefined), watchMs);
    const check = async () => {
      const isOver = (await sizeOf(folder)).bytes > target.maxBytes || (await isFull());
      if (isOver) over.abort(new GitError('too_large', 'the mirror would take more disk than it may'));
    };
    try {
      const output = await runGit({ ...command, signal: AbortSignal.any([command.signal, over.signal]) });
      await check();
      if (over.signal.aborted) throw over.signal.reason;
      return output;
    } catch (thrown) {
      const error = await withReason(folder, target, thrown);
      if (error instanceof GitError && error.kind === 'too_large') await rm(folder, { recursive: true, force: true });
      else await dropUnfinished(folder);
      throw error;
    } finally {
      clearInterval(timer);
    }
  }
}

/** A pack that reaches the maximum file size ends the command that writes it; git reports only that it failed. */
async function withReason(folder: string, { maxBytes }: MirrorTarget, error: unknown): Promise<unknown> {
  if (!(error instanceof GitError && error.kind === 'failed')) return error;
  const isFull = (await sizeOf(folder)).bytes >= maxBytes * 0.95;
  return isFull ? new GitError('too_large', 'the repository is larger than it may be') : error;
}

/** Removes packs that a killed fetch has begun, too old to belong to a running one. */
async function dropUnfinished(folder: string): Promise<void> {
  const packs = join(folder, 'objects', 'pack');
  for (const name of await readdir(packs).catch(() => [])) {
    if (!name.startsWith('tmp_')) continue;
    const found = await stat(join(packs, name)).catch(() => null);
    if (found !== null && Date.now() - found.mtimeMs > 2 * 60_000) await rm(join(packs, name), { force: true });
  }
}

/** The remote for missing objects; no file contains the address or the token. */
function configOf(clone: CloneMode): string {
  const lines = ['[core]', '\tbare = true', `\trepositoryformatversion = ${clone === 'full' ? 0 : 1}`];
  if (clone !== 'full')
    lines.push(
      '[extensions]',
      `\tpartialClone = ${remoteName}`,
      `[remote "${remoteName}"]`,
      '\tpromisor = true',
      '\tpartialclonefilter = blob:none',
    );
  return `${lines.join('\n')}\n`;
}

/** Returns the URL of a repository at the Git host. */
export function cloneUrl(gitUrl: string, fullName: string): string {
  return `${gitUrl}/${fullName.split('/').map(encodeURIComponent).join('/')}.git`;
}
