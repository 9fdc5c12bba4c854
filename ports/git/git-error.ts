/**
 * Why a git command failed. `unavailable`: git is missing or too old; `timeout`; `too_large`: more bytes than allowed, on disk or as output; `refused`: the
 * host does not accept the token; `no_ref`: the host has no such branch or pull request; `unreachable`: the host does not answer; `failed`: anything else.
 */
export type GitErrorKind = 'unavailable' | 'timeout' | 'too_large' | 'refused' | 'no_ref' | 'unreachable' | 'failed';

/** A git command that failed. The message holds neither token nor address. */
export class GitError extends Error {
  override readonly name = 'GitError';
  readonly kind: GitErrorKind;

  constructor(kind: GitErrorKind, message: string) {
    super(message);
    this.kind = kind;
  }

  /** Whether the same command may succeed later. */
  get isRetryable(): boolean {
    return this.kind === 'timeout' || this.kind === 'unreachable' || this.kind === 'failed';
  }
}

/** Classifies a failure by git's text on stderr (in English: `LC_ALL=C`). */
export function kindOfWords(words: string): GitErrorKind {
  if (/couldn't find remote ref|not our ref|upload-pack: .*not our ref/i.test(words)) return 'no_ref';
  if (
    /Authentication failed|could not read Username|returned error: 40[134]|Repository not found|unable to update url base from redirection/i.test(
      words,
    )
  )
    return 'refused';
  if (
    /Could not resolve|Failed to connect|Connection|timed out|returned error: (?:429|5\d\d)|early EOF|unexpected disconnect|RPC failed|hung up/i.test(
      words,
    )
  )
    return 'unreachable';
  if (/File size limit|No space left|File too large|died of signal 25/i.test(words)) return 'too_large';
  return 'failed';
}
