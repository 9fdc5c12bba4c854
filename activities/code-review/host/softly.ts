import { ApplicationFailure } from '@temporalio/common';
import type { ActivityDeps } from '../../deps.ts';

/** Runs work that its caller can do without: a final failure is logged and ignored; a failure that may pass is thrown. */
export async function softly(deps: Pick<ActivityDeps, 'log'>, work: () => Promise<unknown>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (!(error instanceof ApplicationFailure) || error.nonRetryable !== true) throw error;
    deps.log.warn({ reason: error.type, detail: error.message }, 'post at the host left out');
  }
}
