/** Something on this machine keeps Longhaul from starting; the message says what, and what to do. Printed without a stack. */
export class SetupError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'SetupError';
  }
}

/** Reasons why a file can't be written, by system error code. */
const fileFaults: Readonly<Record<string, string>> = {
  EROFS: 'its file system is read-only',
  EACCES: 'this user is not allowed to write there',
  EPERM: 'the system does not permit it',
  ENOSPC: 'no space is left on its disk',
  EDQUOT: "this user's quota of its disk is used up",
  ENOTDIR: 'a part of the path is a file, not a folder',
  ENAMETOOLONG: 'the path is too long',
};

/** Returns an error for a file system fault that the user must fix; null for any other. `dir` is used if the error names no path. */
export function fileFault(error: unknown, dir: string): SetupError | null {
  const code = typeof error === 'object' && error !== null && 'code' in error ? String(error.code) : '';
  const why = fileFaults[code];
  if (why === undefined) return null;

  const path = error !== null && typeof error === 'object' && 'path' in error ? String(error.path) : dir;
  return new SetupError(`${path} cannot be written: ${why}. Fix that, or choose another state folder (LONGHAUL_STATE_DIR).`);
}

/** Returns advice to put before the output of a program that ran out of disk space; empty for any other output. */
export function diskAdvice(said: string, dir: string): string {
  return /no space left on device|disk is full|quota exceeded/i.test(said)
    ? `No space is left on the disk of ${dir}. Free some (a new deployment needs about 300 MB) and start again.\n`
    : '';
}

/** Whether something thrown by Node carries this code (`ENOENT` …). Not by class: under Jest, Node's classes differ from ours. */
export function hasCode(error: unknown, code: string): boolean {
  return typeof error === 'object' && error !== null && 'code' in error && error.code === code;
}
