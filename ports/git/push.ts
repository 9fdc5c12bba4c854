import { GitError } from './git-error.ts';
import { remoteName } from './hardening.ts';
import type { Mirror } from './mirrors.ts';

const pushMs = 4 * 60_000;
const shaForm = /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/;

/** The branch of the remote to push a commit to. */
export interface PushTarget {
  /** Name of the branch, without `refs/heads/`. */
  readonly branch: string;
  /** The commit that the branch must still point at; null: the branch must not exist. */
  readonly expected: string | null;
  readonly sha: string;
}

/** `moved`: the branch points elsewhere by now; `refused`: the host does not accept the commit, with its message. */
export type PushResult = { readonly kind: 'pushed' } | { readonly kind: 'moved' } | { readonly kind: 'refused'; readonly reason: string };

/**
 * Pushes one commit to one branch, if the branch is still at the expected commit; the commit's parent is that head, so nothing is ever overwritten. Throws
 * GitError (`refused`: the token may not push at all).
 */
export async function pushCommit(mirror: Mirror, { branch, expected, sha }: PushTarget, signal: AbortSignal): Promise<PushResult> {
  const ref = `refs/heads/${branch}`;
  const args = ['push', '--porcelain', '--no-verify', '--no-follow-tags', '--recurse-submodules=no'];
  const { bytes, code } = await mirror.run([...args, `--force-with-lease=${ref}:${expected ?? ''}`, remoteName, `${sha}:${ref}`], {
    signal,
    timeoutMs: pushMs,
    maxOutputBytes: 64 * 1024,
    expected: [0, 1],
  });
  return readPorcelain(bytes.toString(), code);
}

/** Parses `git push --porcelain`: `flag TAB from:to TAB summary (reason)`, with the flag `!` for a refused ref. */
export function readPorcelain(text: string, code: number): PushResult {
  const refused = /^!\t[^\t]*\t(.*)$/m.exec(text)?.[1];
  if (refused === undefined && code === 0) return { kind: 'pushed' };
  if (refused === undefined) throw new GitError('failed', 'git push failed without saying why');
  if (/stale info|fetch first|non-fast-forward|reference already exists|cannot lock ref/i.test(refused)) return { kind: 'moved' };
  return { kind: 'refused', reason: refused.replace(/^\[[^\]]*\]\s*/, '').slice(0, 300) };
}

/** Returns the commit that a branch of the remote points at; null: the branch does not exist. */
export async function remoteHead(mirror: Mirror, branch: string, signal: AbortSignal): Promise<string | null> {
  const { bytes } = await mirror.run(['ls-remote', '--quiet', remoteName, `refs/heads/${branch}`], {
    signal,
    timeoutMs: pushMs,
    maxOutputBytes: 64 * 1024,
  });
  const [sha = ''] = bytes.toString().split('\t');
  return shaForm.test(sha) ? sha : null;
}

/** Returns the commit of a branch after `since` whose trailer names this run; null: there is none. The branch must have been fetched. */
export async function commitOfRun(
  mirror: Mirror,
  { since, head, runId }: { readonly since: string; readonly head: string; readonly runId: string },
  signal: AbortSignal,
): Promise<string | null> {
  const format = '--format=%H %(trailers:key=Longhaul-Run,valueonly,separator=%x2C)';
  const args = ['log', '--max-count=200', format, head, `^${since}`, '--'];
  const { bytes } = await mirror.run(args, { signal, timeoutMs: pushMs, maxOutputBytes: 256 * 1024 });
  const found = bytes
    .toString()
    .split('\n')
    .map((entry) => entry.split(' '))
    .find(([, runs = '']) => runs.split(',').includes(runId));
  return found?.[0] ?? null;
}
