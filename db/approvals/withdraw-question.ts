import { row } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';
import { approvalColumns, type ApprovalRow } from './approval-view.ts';

/** Withdraws a pending question, by its id or its call, because what it asked for has arrived in another way. Returns null when it is not pending. */
export function withdrawQuestion(
  tx: TenantTransaction,
  which: { readonly id: string } | { readonly toolCallId: string },
): Promise<ApprovalRow | null> {
  const [column, value] = 'id' in which ? ['id', which.id] : ['tool_call_id', which.toolCallId];
  return row<ApprovalRow>(
    tx.em,
    `with a as (
       update approvals set status = 'cancelled', resolved_by_kind = 'system', resolved_at = clock_timestamp() where ${column} = ? and status = 'pending' returning *
     ) select ${approvalColumns} from a`,
    [value],
  );
}
