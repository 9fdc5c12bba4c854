import { identityOf, type RunState } from '../runs/run-state.ts';
import { rows } from '../sql.ts';
import { stateBatch, type FrameBatch } from '../streams/append.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';
import { resolvedFrame } from './approval-frames.ts';
import { approvalColumns, type ApprovalRow } from './approval-view.ts';

/** Expires the overdue questions of a locked run and adds their frames. Returns them; no question is returned twice. */
export async function expireQuestions(tx: TenantTransaction, run: RunState, batches: FrameBatch[]): Promise<ApprovalRow[]> {
  const expired = await rows<ApprovalRow>(
    tx.em,
    `with a as (
       update approvals set status = 'expired', resolved_at = clock_timestamp() where run_id = ? and status = 'pending' and expires_at <= clock_timestamp() returning *
     ) select ${approvalColumns} from a order by a.id`,
    [run.id],
  );
  if (expired.length > 0) batches.push(stateBatch(identityOf(run), expired.map(resolvedFrame)));
  return expired;
}
