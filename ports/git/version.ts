import { tmpdir } from 'node:os';
import { deadlineIn } from '../deadline.ts';
import { GitError } from './git-error.ts';
import { runGit } from './run-git.ts';

/** It has partial clones with lazily fetched objects, protocol 2 and `GIT_CONFIG_COUNT`; Debian 12 ships it. */
const oldest = [2, 39] as const;

let checked: Promise<string> | null = null;

/**
 * Returns the version of this machine's git, looked up once per process. Throws GitError `unavailable`, which says what is missing, when git is absent or older
 * than 2.39.
 */
export function gitVersion(): Promise<string> {
  checked ??= readVersion().catch((error: unknown) => {
    checked = null;
    throw error;
  });
  return checked;
}

/** Whether this machine has git as code review needs it. */
export function hasGit(): Promise<boolean> {
  return gitVersion().then(
    () => true,
    () => false,
  );
}

async function readVersion(): Promise<string> {
  const command = { folder: tmpdir(), args: ['version'], timeoutMs: 20_000, maxOutputBytes: 1_024, maxFileBytes: null, auth: null };
  const { bytes } = await runGit({ ...command, signal: deadlineIn(30_000) });
  return versionOf(bytes.toString());
}

/** Returns the version in the output of `git version`. Throws GitError `unavailable` for one that is too old. */
export function versionOf(words: string): string {
  const [, major = '0', minor = '0', rest = ''] = /git version (\d+)\.(\d+)(\S*)/.exec(words) ?? [];
  const isNewEnough = Number(major) > oldest[0] || (Number(major) === oldest[0] && Number(minor) >= oldest[1]);
  if (!isNewEnough)
    throw new GitError('unavailable', `code review needs git 2.39 or later on the bulk worker; this is ${words.trim().slice(0, 40)}`);
  return `${major}.${minor}${rest}`;
}
