import { GitError } from '../../../ports/git/git-error.ts';
import { HostError } from '../../../ports/github/host-error.ts';
import { fail } from '../../../workflows/contracts/failure.ts';
import { giveUp } from '../../support/failures.ts';

/**
 * Maps an error of the host or git to the workflow's failure: retried later, retried after the pause that the host asks for, or final. Any other error is
 * returned unchanged.
 */
export function hostFailure(error: unknown): unknown {
  if (error instanceof HostError) {
    const detail = `The Git host: ${error.message}`.slice(0, 500);
    const retryAfterS = error.retryAfterMs === null ? {} : { retryAfterS: Math.ceil(error.retryAfterMs / 1_000) };
    if (error.isRetryable) return fail('upstream_failed', { reason: `host_${error.kind}`, detail, ...retryAfterS });
    return giveUp(fail('upstream_failed', { reason: `host_${error.kind}`, detail }), { retryable: false });
  }
  if (!(error instanceof GitError)) return error;
  const failure = fail('upstream_failed', { reason: `git_${error.kind}`, detail: `Git: ${error.message}`.slice(0, 500) });
  return lasting.has(error.kind) ? giveUp(failure, { retryable: false }) : failure;
}

const lasting: ReadonlySet<string> = new Set(['no_ref', 'unavailable']);

/** Runs work on the host and throws its errors as the workflow's failures. */
export async function onHost<R>(work: () => Promise<R>): Promise<R> {
  try {
    return await work();
  } catch (error) {
    throw hostFailure(error);
  }
}
