import { row } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';
import { approvalColumns, type ApprovalRow } from './approval-view.ts';

/** Ends a pending question by itself or of a call, since what it asked for has come in another way. Null: it is not pending. */
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
