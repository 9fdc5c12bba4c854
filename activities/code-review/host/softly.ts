import { ApplicationFailure } from '@temporalio/common';
import type { ActivityDeps } from '../../deps.ts';

/** Runs work without which its caller is complete: what fails for good is told in the log and left; what may pass later is thrown. */
export async function softly(deps: Pick<ActivityDeps, 'log'>, work: () => Promise<unknown>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (!(error instanceof ApplicationFailure) || error.nonRetryable !== true) throw error;
    deps.log.warn({ reason: error.type, detail: error.message }, 'post at the host left out');
  }
}
