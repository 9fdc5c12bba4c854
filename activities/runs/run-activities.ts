import { beginRun } from '../../domain/runs/start/begin-run.ts';
import { finishRun } from '../../domain/runs/end/finish-run.ts';
import { remainingMs, type RunState } from '../../db/runs/run-state.ts';
import type { AgentRunActivities } from '../../workflows/contracts/runs/agent-run.ts';
import { Failure } from '../../workflows/contracts/failure.ts';
import type { ActivityDeps } from '../deps.ts';
import { giveUp } from '../support/failures.ts';
import { transactAsRun } from './as-run.ts';
import { stopSuspended } from './stop-frozen.ts';

/** The activities that begin and end a run; both decide by the run's row and may be repeated. */
export function createRunActivities(deps: ActivityDeps): Pick<AgentRunActivities, 'beginRun' | 'finishRun'> {
  return {
    async beginRun({ runId }) {
      const run = await begin(deps, runId);
      if (run === null) return { done: true };
      deps.log.info({ run_id: runId, status: run.status }, 'run begun');
      return {
        done: false,
        maxSteps: run.limits.max_steps,
        remainingMs: remainingMs(run, deps.db.clock.now()),
        cancelRequested: run.status === 'cancelling',
        ...(run.status === 'waiting' ? { isWaiting: true } : {}),
      };
    },

    async finishRun(input) {
      const result = await transactAsRun(deps, input.runId, (tx) => finishRun(tx, input));
      if (!result.more) deps.log.info({ run_id: input.runId, reason: input.reason, code: input.error?.code }, 'run finished');
      return result;
    },
  };
}

/** In a suspended organization or archived workspace nothing begins: a queued run ends there, a running one is cancelled. */
async function begin(deps: ActivityDeps, runId: string): Promise<RunState | null> {
  const run = await transactAsRun(deps, runId, (tx) => beginRun(tx, runId, { model: deps.models.resolve })).catch(giveUpWithoutModel);
  if (run === null || run.status === 'cancelling' || !run.is_frozen) return run;
  await stopSuspended(deps, runId);
  return begin(deps, runId);
}

/** A model that the deployment lacks will not exist a moment later either. */
function giveUpWithoutModel(error: unknown): never {
  throw error instanceof Failure && error.context['reason'] === 'model_unavailable' ? giveUp(error) : error;
}
