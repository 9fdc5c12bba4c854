import { stopRun } from '../../domain/runs/end/stop-run.ts';
import { Failure } from '../../workflows/contracts/failure.ts';
import type { ActivityDeps } from '../deps.ts';
import { transactAsRun } from './as-run.ts';

/**
 * An activity met a frozen place before the stop of the place met its run: the run is told to end, as the stop would have. False when the place
 * works again.
 */
export async function stopSuspended(deps: ActivityDeps, runId: string): Promise<boolean> {
  try {
    return await transactAsRun(deps, runId, (tx) => stopRun(tx, runId));
  } catch (error) {
    // Ended meanwhile: as good as told.
    if (error instanceof Failure && (error.code === 'state_conflict' || error.code === 'not_found')) return true;
    throw error;
  }
}
