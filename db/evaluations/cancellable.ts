import { visibleTo, type Changing } from '../scope.ts';
import { row } from '../sql.ts';
import { EvaluationRun } from './evaluation-run.entity.ts';
import type { CancelFilter, RunAddress } from '../runs/end/cancellable-runs.ts';

/** The evaluation that a filter of runs names and that the caller may cancel; null: none, or the filter says something that no evaluation has. */
export async function findCancellable(ctx: Changing, filter: CancelFilter): Promise<RunAddress | null> {
  const { evaluation_run_id: id, agent_id: agentId, session_key: sessionKey, trigger_id: triggerId } = filter;
  if (id === undefined || sessionKey !== undefined || triggerId !== undefined) return null;
  const visible = visibleTo(ctx, EvaluationRun, 'e');
  return row<RunAddress>(
    ctx.em,
    `select e.id, e.organization_id, e.workspace_id from evaluation_runs e
       join workspaces w on w.id = e.workspace_id and w.is_active join organizations o on o.id = e.organization_id and o.status = 'active'
      where e.id = ? and (?::uuid is null or e.agent_id = ?) and ${visible.sql}`,
    [id, agentId ?? null, agentId ?? null, ...visible.params],
  );
}
