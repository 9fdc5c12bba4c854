import type { ApprovalReason } from '../../workflows/contracts/approvals.ts';
import { invalid } from '../../workflows/contracts/failure.ts';
import { tenantPredicate } from '../scope.ts';
import { row } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';

/** Throws 422 unless a question of this kind was put by the run or one below it. */
export async function requireQuestion(
  tx: TenantTransaction,
  { runId, approvalId, reason }: { readonly runId: string; readonly approvalId: string; readonly reason: ApprovalReason },
): Promise<void> {
  const own = tenantPredicate(tx.tenant, 'a');
  const found = await row(
    tx.em,
    `select a.id from approvals a join runs q on q.id = a.run_id
      where a.id = ?::uuid and a.reason = ? and (q.id = ?::uuid or q.lineage @> array[?::uuid]) and ${own.sql}`,
    [approvalId, reason, runId, runId, ...own.params],
  );
  if (!found) throw invalid('/approval_id', 'reference', 'The run has no such question.', { kind: 'approval' });
}
