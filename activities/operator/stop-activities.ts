import { cancellationSignal } from '@temporalio/activity';
import { readStop, runsToStop, stopReasons } from '../../db/operator/stopped-runs.ts';
import { pauseSchedulesOfPlace, resumeSchedulesOfPlace } from '../../domain/triggers/pause.ts';
import { stopRun } from '../../domain/runs/end/stop-run.ts';
import { Failure } from '../../workflows/contracts/failure.ts';
import type { StopActivities } from '../../workflows/contracts/upkeep/operator.ts';
import type { ActivityDeps } from '../deps.ts';
import { transactAsSystem } from '../support/as-system.ts';
import { tenantOfActivity } from '../support/tenant.ts';

const runsARound = 200;

/** The activity of `orgStop` and `wsStop`: it decides by the rows each time, so it may be repeated or interrupted at any point. */
export function createStopActivities(deps: ActivityDeps): StopActivities {
  return {
    async cancelRuns() {
      const { organizationId, workspaceId } = tenantOfActivity();
      const stop = await transactAsSystem(deps, (tx) => readStop(tx, { organizationId, workspaceId }));
      if (stop === null) {
        await transactAsSystem(deps, (tx) => resumeSchedulesOfPlace(tx, stopReasons));
        return { isStopped: false, cancelled: 0 };
      }
      await transactAsSystem(deps, (tx) => pauseSchedulesOfPlace(tx, stop));
      const cancelled = await stopRuns(deps);
      if (cancelled > 0) deps.log.info({ organization_id: organizationId, workspace_id: workspaceId, cancelled, stop }, 'runs stopped');
      return { isStopped: true, cancelled };
    },
  };
}

/** Cancels up to 200 runs of the tenant, each in a separate transaction; returns how many there were. */
export async function stopRuns(deps: ActivityDeps): Promise<number> {
  const runIds = await transactAsSystem(deps, (tx) => runsToStop(tx, runsARound));

  for (const runId of runIds) {
    cancellationSignal().throwIfAborted();
    await transactAsSystem(deps, (tx) => stopRun(tx, runId)).catch(ignoreEnded);
  }
  return runIds.length;
}

// A run that has ended in the meantime needs no stop.
function ignoreEnded(error: unknown): void {
  if (error instanceof Failure && (error.code === 'state_conflict' || error.code === 'not_found')) return;
  throw error;
}
