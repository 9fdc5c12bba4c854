import { stopRun } from '../../domain/runs/end/stop-run.ts';
import { Failure } from '../../workflows/contracts/failure.ts';
import type { ActivityDeps } from '../deps.ts';
import { transactAsRun } from './as-run.ts';

/**
 * Handles an activity that finds its organization suspended or its workspace archived before `orgStop` or `wsStop` has reached its run: cancels the run, as the
 * stop would have. False when the tenant is active again.
 */
export async function stopSuspended(deps: ActivityDeps, runId: string): Promise<boolean> {
  try {
    return await transactAsRun(deps, runId, (tx) => stopRun(tx, runId));
  } catch (error) {
    // Ended in the meantime, which is as good as cancelled.
    if (error instanceof Failure && (error.code === 'state_conflict' || error.code === 'not_found')) return true;
    throw error;
  }
}
