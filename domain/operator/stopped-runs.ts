import { recordChange } from '../audit/record.ts';
import { cancelRun } from '../../db/runs/end/cancel-run.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';
import { findFrozenRun, stopReason } from '../../db/operator/stopped-runs.ts';

/**
 * Cancels a run whose place is stopped, by what the rows say in this transaction: the newest state wins. False when the place works. A run
 * that has ended, or has been told already, stays as it is.
 */
export async function stopRun(tx: TenantTransaction, runId: string): Promise<boolean> {
  const found = await findFrozenRun(tx, runId);
  const reason = found && stopReason(found.status, found.is_active);
  if (!found || reason === null) return false;
  if (!['queued', 'running', 'waiting'].includes(found.run_status)) return true;

  await cancelRun(tx, { runId, policy: 'interrupt', reason });
  await recordChange(tx, {
    action: 'submit',
    note: {
      resourceType: 'run',
      resourceId: runId,
      organizationId: found.organization_id,
      workspaceId: found.workspace_id,
      changes: { cancel_reason: { to: reason } },
    },
  });
  return true;
}
