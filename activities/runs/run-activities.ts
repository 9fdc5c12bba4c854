import { beginRun } from '../../db/runs/begin-run.ts';
import { finishRun } from '../../db/runs/finish-run.ts';
import { remainingMs, type RunState } from '../../db/runs/run-state.ts';
import type { AgentRunActivities } from '../../workflows/contracts/agent-run.ts';
import { fail } from '../../workflows/contracts/failure.ts';
import type { RevisionDocument } from '../../db/agents/revision-document.ts';
import type { ActivityDeps } from '../deps.ts';
import { giveUp } from '../support/failures.ts';
import { inTenant } from './in-tenant.ts';
import { stopFrozen } from './stop-frozen.ts';

/** The activities that begin and end a run; both are judged by the run's row and may be repeated. */
export function createRunActivities(deps: ActivityDeps): Pick<AgentRunActivities, 'beginRun' | 'finishRun'> {
  return {
    async beginRun({ runId }) {
      const run = await begin(deps, runId);
      if (run === null) return { done: true };
      deps.log.info({ run_id: runId, status: run.status }, 'run begun');
      return {
        done: false,
        maxSteps: run.limits.max_steps,
        remainingMs: remainingMs(run, new Date()),
        cancelRequested: run.status === 'cancelling',
      };
    },

    async finishRun(input) {
      await inTenant(deps, input.runId, (unit) => finishRun(unit, input));
      deps.log.info({ run_id: input.runId, reason: input.reason, code: input.error?.code }, 'run finished');
      return { more: false };
    },
  };
}

/** In a frozen place nothing begins: a queued run ends there, a running one is told to. */
async function begin(deps: ActivityDeps, runId: string): Promise<RunState | null> {
  const run = await inTenant(deps, runId, (unit) => beginRun(unit, runId, (document) => pinModels(deps, document)));
  if (run === null || run.status === 'cancelling' || !run.is_frozen) return run;
  await stopFrozen(deps, runId);
  return begin(deps, runId);
}

/** Registry ids of the revision's model and its fallbacks; a fallback that the deployment does not have is left out. */
function pinModels({ models }: ActivityDeps, document: RevisionDocument): string[] {
  const first = models.resolve(document.model);
  if (!first)
    throw giveUp(
      fail('upstream_failed', { reason: 'model_unavailable', detail: `The deployment has no model ${document.model ?? 'by default'}.` }),
    );
  const others = document.fallback_models.flatMap((id) => models.resolve(id)?.id ?? []);
  return [...new Set([first.id, ...others])];
}
