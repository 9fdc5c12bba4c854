import { consolidateStep } from '../../domain/knowledge/upkeep/consolidate.ts';
import { dedupeStep } from '../../domain/knowledge/upkeep/dedupe.ts';
import { queriesOfRun } from '../../domain/knowledge/search/embed-query.ts';
import { evaluateStep } from '../../domain/knowledge/upkeep/evaluate-retrieval.ts';
import { contradictionsStep } from '../../domain/knowledge/upkeep/find-contradictions.ts';
import { decayStep } from '../../domain/knowledge/upkeep/find-stale.ts';
import { maintainBatch, type MaintenanceTask, type MaintenanceTools, type TaskStep } from '../../domain/knowledge/upkeep/maintenance.ts';
import { repairStep } from '../../domain/knowledge/upkeep/repair-base.ts';
import { verifyStep } from '../../domain/knowledge/upkeep/verify-base.ts';
import type { ActivityDeps } from '../deps.ts';
import { transactAsSystem } from '../support/as-system.ts';
import { embeddingDeps } from './index-activities.ts';
import { createJudge } from './judge-model.ts';
import type { RunBatch, RunWork } from './run-activities.ts';

const steps: Readonly<Record<MaintenanceTask, TaskStep>> = {
  verify: verifyStep,
  repair: repairStep,
  dedupe: dedupeStep,
  decay: decayStep,
  contradictions: contradictionsStep,
  consolidate: consolidateStep,
  evaluate_retrieval: evaluateStep,
};

/** Does one batch of a maintenance run. */
export const maintain: RunWork = async ({ run, deps, signal, commit }) => {
  const isWorking = await maintainBatch(
    run,
    { read: (work) => transactAsSystem(deps, work), commit, signal },
    { steps, tools: toolsOf(deps, run, signal) },
  );
  return isWorking ? 'more' : { result: null };
};

function toolsOf(deps: ActivityDeps, { id, cursor }: RunBatch['run'], signal: AbortSignal): MaintenanceTools {
  const { embedder } = deps;
  // Created for each batch, which its cursor names.
  const queries = { runId: id, step: `query ${JSON.stringify(cursor?.['after'] ?? null)}`, signal };
  const { now } = deps.db.clock;
  return {
    embedder,
    judge: createJudge(deps),
    search: {
      read: (work) => transactAsSystem(deps, work),
      models: embedder,
      embed: queriesOfRun(embeddingDeps(deps), queries),
      now,
    },
    now,
  };
}
