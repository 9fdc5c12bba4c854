import type { SqlEntityManager } from '@mikro-orm/postgresql';
import type { RunSource, RunStatus } from '../../../workflows/contracts/runs/runs.ts';
import { rows } from '../../sql.ts';
import type { StartableRun } from '../start/conversations.ts';

/** What the reconciler needs to know of a run to repair it. All queries here cross tenants, so they run as the sweeper role only. */
export interface ReconcilableRun {
  readonly id: string;
  readonly organizationId: string;
  readonly workspaceId: string;
  readonly agentId: string;
  readonly source: RunSource;
  readonly status: RunStatus;
  /** For a run of code review, the binding and number of its pull request; else null. */
  readonly bindingId: string | null;
  readonly pullNumber: number | null;
}

export interface FreeConversation {
  readonly id: string;
  readonly organizationId: string;
  readonly workspaceId: string;
}

/** Value of `reconciled_at` that makes a run due at once. */
export const dueNow = 'epoch';

/** Columns of a `ReconcilableRun`, read from `runs r`. */
export const reconcilableColumns = `r.id, r.organization_id as "organizationId", r.workspace_id as "workspaceId", r.agent_id as "agentId", r.source, r.status,
  r.binding_id as "bindingId", (r.review ->> 'pull_number')::int as "pullNumber"`;
/** A condition: `runs r` has not ended. */
export const live = `r.status in ('queued', 'running', 'waiting', 'cancelling')`;

/** A condition: the run has no live parent. A live parent's workflow starts the workflow of a child that waits to begin. */
const isOwnStart = `not exists (select from runs p where p.id = r.parent_run_id and p.status in ('queued', 'running', 'waiting', 'cancelling'))`;

/** Returns live runs that should have a workflow but gave no sign of life for 30 s (10 min while waiting), longest unseen first. */
export function silentRuns(em: SqlEntityManager, limit: number): Promise<ReconcilableRun[]> {
  return rows<ReconcilableRun>(
    em,
    `select ${reconcilableColumns} from runs r left join run_streams s on s.run_id = r.id
     where ${live} and (r.status <> 'queued' or (r.activated_at is not null and ${isOwnStart}))
       and (r.reconciled_at = '${dueNow}' or greatest(r.updated_at, s.updated_at, r.reconciled_at)
            < now() - case r.status when 'waiting' then interval '10 minutes' else interval '30 seconds' end)
     order by coalesce(r.reconciled_at, r.updated_at) limit ?`,
    [limit],
  );
}

/** Returns those of these runs that are live. */
export function liveRunsAmong(em: SqlEntityManager, runIds: readonly string[]): Promise<ReconcilableRun[]> {
  return rows<ReconcilableRun>(em, `select ${reconcilableColumns} from runs r where r.id = any(?) and ${live}`, [runIds]);
}

/** Returns those of these runs that ended more than a minute ago. */
export async function endedRunsAmong(em: SqlEntityManager, runIds: readonly string[]): Promise<string[]> {
  const found = await rows<{ id: string }>(
    em,
    `select r.id from runs r where r.id = any(?) and r.finished_at < now() - interval '1 minute'`,
    [runIds],
  );

  return found.map((run) => run.id);
}

/** Returns conversations without an active run although runs are queued. */
export function freeConversations(em: SqlEntityManager, limit: number): Promise<FreeConversation[]> {
  return rows<FreeConversation>(
    em,
    `select id, organization_id as "organizationId", workspace_id as "workspaceId" from conversations
     where active_run_id is null and queue_length > 0 limit ?`,
    [limit],
  );
}

/**
 * Returns runs whose time ran out over a minute ago without their workflow ending them: for a working run by the time that `remainingMs` computes, for a
 * waiting run by the hard deadline, which no wait outlives.
 */
export function overdueRuns(em: SqlEntityManager, limit: number): Promise<ReconcilableRun[]> {
  return rows<ReconcilableRun>(
    em,
    `select ${reconcilableColumns} from runs r
      where (r.status in ('running', 'cancelling') and now() - interval '1 minute' >
          least(r.hard_deadline_at, r.started_at + make_interval(secs => (r.limits ->> 'max_duration_s')::int) + r.waited_ms * interval '1 millisecond'))
         or (r.status = 'waiting' and now() - interval '1 minute' > r.hard_deadline_at) limit ?`,
    [limit],
  );
}

/** Returns live runs with a wait that ended over a minute ago without their workflow noticing. */
export function lateWaits(em: SqlEntityManager, limit: number): Promise<ReconcilableRun[]> {
  return rows<ReconcilableRun>(
    em,
    `select ${reconcilableColumns} from runs r
      where r.status in ('running', 'waiting') and r.id in (
        select a.run_id from approvals a where a.status = 'pending' and a.expires_at < now() - interval '1 minute'
        union all select w.id from runs w where w.status = 'waiting' and w.waiting_until < now() - interval '1 minute') limit ?`,
    [limit],
  );
}

/** Returns delayed runs whose workflow should have started half a minute ago. Sweeper role only. */
export function dueRuns(em: SqlEntityManager, limit: number): Promise<StartableRun[]> {
  return rows<StartableRun>(
    em,
    `select r.id, r.organization_id as "organizationId", r.workspace_id as "workspaceId", r.agent_id as "agentId", r.source from runs r
      where r.status = 'queued' and r.queue_no is null and r.activated_at is null and r.start_after < now() - interval '30 seconds'
      order by r.start_after limit ?`,
    [limit],
  );
}
