import { fail } from '../../workflows/contracts/failure.ts';
import { pauseSchedulesOfAgent } from '../triggers/pause.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';
import type { Agent } from '../../db/agents/agent.entity.ts';
import { liveRunsOf } from '../../db/agents/agents.ts';

/**
 * Deletes an agent softly: it no longer starts runs, and its schedules pause. The caller has locked it. Throws 409 `runs_live` with the number of runs that
 * have not ended; with `force` the caller cancels each of them instead: returns those that are not cancelling yet, queued ones first, so that no queue advances
 * needlessly.
 */
export async function deleteAgent(
  tx: TenantTransaction,
  agent: Agent,
  { force, now }: { readonly force: boolean; readonly now: Date },
): Promise<string[]> {
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
  return live.filter(({ status }) => status !== 'cancelling').map(({ id }) => id);
}
