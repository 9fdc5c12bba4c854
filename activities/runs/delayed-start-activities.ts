import { startDelayed } from '../../domain/runs/start/delayed-start.ts';
import type { DelayedStartActivities } from '../../workflows/contracts/runs/delayed-start.ts';
import type { ActivityDeps } from '../deps.ts';
import { transactAsSystem } from '../support/as-system.ts';

/** The activity of `delayedStart`: it decides by the run's row, so it may be repeated or interrupted at any point. */
export function createDelayedStartActivities(deps: ActivityDeps): DelayedStartActivities {
  return {
    async admitRun({ runId }) {
      const admission = await transactAsSystem(deps, (tx) => startDelayed(tx, runId));
      if (!admission.isDone) return { done: false, dueInMs: admission.dueInMs };
      deps.log.info({ run_id: runId }, 'delayed run started');
      return { done: true, dueInMs: 0 };
    },
  };
}
