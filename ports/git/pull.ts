import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { GitError } from './git-error.ts';
import { remoteName } from './hardening.ts';
import type { CloneMode, Mirror } from './mirrors.ts';

/** The commits that a review compares. */
export interface PullCommits {
  readonly headSha: string;
  /** Tip of the base branch. */
  readonly baseSha: string;
  /** Where the two diverged; null: they have no common commit. */
  readonly mergeBaseSha: string | null;
}

export interface PullRefs {
  readonly pullNumber: number;
  readonly baseRef: string;
  readonly clone: CloneMode;
}

const fetchMs = 8 * 60_000;
const shortMs = 60_000;
const shaForm = /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/;
/** https://git-scm.com/docs/git-check-ref-format, as far as a refspec would interpret the name otherwise. */
// oxlint-disable-next-line no-control-regex -- a name of a branch holds no control character
const branchForm = /^(?!-)[^\u0000-\u0020\u007f~^:?*[\\]{1,255}$/;
const firstDepth = 100;

/**
 * Fetches the head of a pull request and the tip of its base branch from the base repository: `refs/pull/N/head` exists for forks, too, even deleted ones.
 * Throws GitError (`no_ref`: the host lacks one of them).
 */
export async function fetchPull(mirror: Mirror, { pullNumber, baseRef, clone }: PullRefs, signal: AbortSignal): Promise<PullCommits> {
  if (!branchForm.test(baseRef)) throw new GitError('no_ref', 'the base is not the name of a branch');
  const [head, base] = [`refs/pull/${pullNumber}/head`, `refs/pull/${pullNumber}/base`];
  const refs = [`+refs/pull/${pullNumber}/head:${head}`, `+refs/heads/${baseRef}:${base}`];
  const fetchRefs = (...depth: string[]) => fetch(mirror, { clone, refs: [...depth, remoteName, ...refs] }, signal);

  await fetchRefs(...(clone === 'shallow' ? [`--depth=${firstDepth}`] : []));
  let mergeBaseSha = await mergeBase(mirror, [base, head], signal);
  if (mergeBaseSha === null && (await isShallow(mirror))) {
    await fetchRefs('--unshallow');
    mergeBaseSha = await mergeBase(mirror, [base, head], signal);
  }
  return { headSha: await shaOf(mirror, head, signal), baseSha: await shaOf(mirror, base, signal), mergeBaseSha };
}

/** Fetches one commit by its id: the head of an earlier review, after a force push. Returns whether the host still has it. */
export async function fetchCommit(
  mirror: Mirror,
  { sha, clone }: { readonly sha: string; readonly clone: CloneMode },
  signal: AbortSignal,
): Promise<boolean> {
  if (!shaForm.test(sha)) return false;
  try {
    await fetch(mirror, { clone, refs: [remoteName, sha] }, signal);
    return true;
  } catch (error) {
    if (error instanceof GitError && error.kind === 'no_ref') return false;
    throw error;
  }
}

async function fetch(mirror: Mirror, { clone, refs }: { clone: CloneMode; refs: readonly string[] }, signal: AbortSignal): Promise<void> {
  const filter = clone === 'full' ? [] : ['--filter=blob:none'];
  const options = [
    '--quiet',
    '--no-tags',
    '--force',
    '--no-write-fetch-head',
    '--no-recurse-submodules',
    '--no-auto-maintenance',
    ...filter,
  ];
  await mirror.run(['fetch', ...options, ...refs], { signal, timeoutMs: fetchMs, maxOutputBytes: 64 * 1024 });
}

function isShallow({ folder }: Mirror): Promise<boolean> {
  return stat(join(folder, 'shallow')).then(
    () => true,
    () => false,
  );
}

/** Returns the commit where two histories diverge; the first, if there are several. */
async function mergeBase(mirror: Mirror, refs: readonly [string, string], signal: AbortSignal): Promise<string | null> {
  const options = { signal, timeoutMs: shortMs, maxOutputBytes: 4_096, expected: [0, 1] };
  const { bytes } = await mirror.run(['merge-base', ...refs], options);
  const [sha = ''] = bytes.toString().trim().split('\n');
  return shaForm.test(sha) ? sha : null;
}

async function shaOf(mirror: Mirror, ref: string, signal: AbortSignal): Promise<string> {
  const { bytes } = await mirror.run(['rev-parse', '--verify', '--end-of-options', `${ref}^{commit}`], {
    signal,
    timeoutMs: shortMs,
    maxOutputBytes: 4_096,
  });
  return bytes.toString().trim();
}
