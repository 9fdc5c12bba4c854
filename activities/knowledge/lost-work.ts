import { cancellationSignal } from '@temporalio/activity';
import { liveEvaluations } from '../../db/evaluations/evaluations.ts';
import { newId } from '../../db/ids.ts';
import {
  basesToIndex,
  liveReembeds,
  liveRuns,
  type LiveReembed,
  type LiveRun,
  type LiveWork,
  type WorkPage,
} from '../../db/knowledge/runs/live-work.ts';
import { workflowOfRun } from '../../workflows/contracts/knowledge/runs.ts';
import { sweep } from '../../db/transaction.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';
import { resumeEvaluation } from '../../domain/evaluations/lifecycle.ts';
import { resumeIndex, resumeRun } from '../../domain/knowledge/upkeep/lost-work.ts';
import type { Temporal } from '../../temporal/client.ts';
import { pacedWorkflowState } from '../../temporal/restart.ts';
import type { MaintenanceActivities } from '../../workflows/contracts/upkeep/maintenance.ts';
import { workflowIds } from '../../workflows/contracts/queues.ts';
import type { ActivityDeps } from '../deps.ts';
import { transactAsSystem } from '../support/as-system.ts';
import { asTenant } from '../support/tenant.ts';
import { compensateReembed } from './reembed-activities.ts';

const pageSize = 200;

/** One kind of work: which work is live, the workflow of each, and how to resume work whose workflow is lost. `resume` returns whether it did anything. */
interface Kind<Work extends LiveWork> {
  readonly live: (em: Pick<TenantTransaction, 'em'>, page: WorkPage) => Promise<Work[]>;
  readonly workflowId: (work: Work) => string | null;
  readonly resume: (deps: ActivityDeps, work: Work, state: 'closed' | 'missing') => Promise<boolean>;
}

/** Nothing else would ever reopen its base. */
const reembeds: Kind<LiveReembed> = {
  live: liveReembeds,
  workflowId: ({ id }) => workflowIds.reembed(id),
  async resume(deps, { runId }) {
    await compensateReembed(deps, runId);
    return true;
  },
};

const runs: Kind<LiveRun> = {
  live: liveRuns,
  workflowId: (run) => workflowOfRun({ ...run, targetKbId: null }), // not a re-embed
  async resume(deps, run, state) {
    const outcome = await resumeRun((work) => transactAsSystem(deps, work), run, state);
    if (outcome !== 'left')
      deps.log.warn({ knowledge_run_id: run.id, kind: run.kind, state, outcome }, 'knowledge run had lost its workflow');
    return outcome !== 'left';
  },
};

const indexes: Kind<LiveWork> = {
  live: basesToIndex,
  workflowId: ({ id }) => workflowIds.indexBase(id),
  resume: (deps, base) => transactAsSystem(deps, (tx) => resumeIndex(tx, base)),
};

const evaluations: Kind<LiveWork> = {
  live: liveEvaluations,
  workflowId: ({ id }) => workflowIds.evaluation(id),
  async resume(deps, { id, organizationId, workspaceId }) {
    if (workspaceId === null) return false;
    return transactAsSystem(deps, (tx) => resumeEvaluation(tx, { id, organizationId, workspaceId }));
  },
};

/** Resumes evaluations and work on bases whose workflow is lost and whose start is not waiting to be sent either. */
export function createLostWorkUpkeep(deps: ActivityDeps, temporal: Temporal): Pick<MaintenanceActivities, 'tendReembeds'> {
  return {
    tendReembeds: async () =>
      (await tendAll(deps, temporal, reembeds)) +
      (await tendAll(deps, temporal, runs)) +
      (await tendAll(deps, temporal, indexes)) +
      (await tendAll(deps, temporal, evaluations)),
  };
}

async function tendAll<Work extends LiveWork>(deps: ActivityDeps, temporal: Temporal, kind: Kind<Work>): Promise<number> {
  let count = 0;
  for (let after: string | null = null; ;) {
    const from: string | null = after;
    const page: Work[] = await sweep(deps.db, (em) => kind.live({ em }, { after: from, limit: pageSize }));
    for (const work of page) if (await tend(deps, temporal, { kind, work })) count += 1;
    if (page.length < pageSize) return count;
    after = page.at(-1)?.id ?? null;
  }
}

async function tend<Work extends LiveWork>(
  deps: ActivityDeps,
  temporal: Temporal,
  { kind, work }: { readonly kind: Kind<Work>; readonly work: Work },
): Promise<boolean> {
  cancellationSignal().throwIfAborted();
  const { id, organizationId, workspaceId, isUnsent } = work;
  if (isUnsent) return false;
  const workflowId = kind.workflowId(work);
  const state = workflowId === null ? 'closed' : await pacedWorkflowState(temporal, workflowId);
  if (state === 'open') return false;
  try {
    return await asTenant({ organizationId, workspaceId, correlationId: newId() }, () => kind.resume(deps, work, state));
  } catch (err) {
    deps.log.error({ err, id, workflow_id: workflowId }, 'work on a knowledge base without a workflow not resumed');
    return false;
  }
}
