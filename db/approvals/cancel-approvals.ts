import { rows } from '../sql.ts';
import type { FrameDraft } from '../streams/frame.schema.ts';
import type { RunState } from '../runs/run-state.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';
import { resolvedFrame } from './approval-frames.ts';
import { approvalColumns, type ApprovalRow } from './approval-view.ts';

/**
 * Withdraws the pending questions of runs that are cancelled or over, and of no other runs. The caller passes all of them and has locked them, their
 * ancestors and the descendants that end with them. Returns the frames by run, which the caller appends before the run's own. Sends no statement when
 * nothing is pending.
 */
export async function cancelApprovals(
  tx: TenantTransaction,
  runs: readonly RunState[],
): Promise<ReadonlyMap<string, readonly FrameDraft[]>> {
  const frames = new Map<string, FrameDraft[]>();
  const asking = runs.filter((run) => run.pending_approvals > 0);
  if (asking.length === 0) return frames;

  const cancelled = await rows<ApprovalRow>(
    tx.em,
    `with cancelled as (
       update approvals set status = 'cancelled', resolved_at = clock_timestamp() where run_id = any (?::uuid[]) and status = 'pending' returning *
     ), counted as (
       update runs r set pending_approvals = greatest(0, r.pending_approvals - n.own), updated_at = now()
         from (select u.id, count(*)::int as own from cancelled a join runs d on d.id = a.run_id cross join unnest(array_append(d.lineage, d.id)) as u(id) group by u.id) n
        where r.id = n.id
     )
     select ${approvalColumns} from cancelled a order by a.id`,
    [asking.map(({ id }) => id)],
  );
  for (const approval of cancelled) frames.set(approval.run_id, [...(frames.get(approval.run_id) ?? []), resolvedFrame(approval)]);
  return frames;
}
