import { fail, Failure } from '../../workflows/contracts/failure.ts';
import { cancelRun } from '../../db/runs/end/cancel-run.ts';
import { pauseSchedulesOfAgent } from '../triggers/pause.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';
import type { Agent } from '../../db/agents/agent.entity.ts';
import { liveRunsOf } from '../../db/agents/agents.ts';

/**
 * Deletes an agent softly: it starts no run any more, its schedules pause. The caller holds its lock. Runs that have not ended stand against
 * it: 409 `runs_live` with their number; with `force` each is cancelled instead.
 */
export async function deleteAgent(
  tx: TenantTransaction,
  agent: Agent,
  { force, now }: { readonly force: boolean; readonly now: Date },
): Promise<void> {
  const live = await liveRunsOf(tx, agent.id);
  if (live.length > 0 && !force)
    throw fail('state_conflict', {
      reason: 'runs_live',
      detail: 'The agent has runs that have not ended.',
      context: { live_runs: live.length },
    });

  agent.deletedAt = now;
  await tx.em.flush();
  await pauseSchedulesOfAgent(tx, agent.id);
  // Those in line first, so that no line moves for nothing.
  for (const run of live) if (run.status !== 'cancelling') await cancelUnlessEnded(tx, run.id);
}

/** A run may end by itself between being found and being locked. */
async function cancelUnlessEnded(tx: TenantTransaction, runId: string): Promise<void> {
  try {
    await cancelRun(tx, { runId, policy: 'interrupt', reason: 'agent_deleted' });
  } catch (error) {
    if (error instanceof Failure && error.context['reason'] === 'run_finished') return;
    throw error;
  }
}
