import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { addRestart, setDue, setReconciled } from '../../db/runs/end/reconcile-rows.ts';
import type { RestartableRun } from '../../db/runs/start/restart-run.ts';

/** How often the workflow of a run is restarted after Temporal has lost it. A run that loses one more ends (`workflow_closed`). */
export const maxRestarts = 10;

/** Makes the reconciler's next pass check this run, whatever its last sign of life. */
export function markRunDue(em: SqlEntityManager, runId: string): Promise<void> {
  return setDue(em, runId);
}

/** Records that the reconciler has checked a run. A locked run is skipped: another transaction is working on it. */
export function markReconciled(em: SqlEntityManager, runId: string): Promise<void> {
  return setReconciled(em, runId);
}

/** Counts a restart, only once among reconcilers that have read the same count. */
export function countRestart(em: SqlEntityManager, run: Pick<RestartableRun, 'id' | 'restarts'>): Promise<void> {
  return addRestart(em, run);
}
