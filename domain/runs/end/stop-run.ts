import { recordChange } from '../../audit/record.ts';
import { cancelRun } from './cancel-run.ts';
import type { TenantTransaction } from '../../../db/tenant-transaction.ts';
import { readStopOfRun } from '../../../db/operator/stopped-runs.ts';

/**
 * Cancels a run whose workspace or organization is stopped, by the rows of this transaction: the newest state wins. Returns false when it is not stopped. A run
 * that has ended, or was asked to end already, stays as it is.
 */
export async function stopRun(tx: TenantTransaction, runId: string): Promise<boolean> {
  const found = await readStopOfRun(tx, runId);
  if (found === null) return false;
  if (!['queued', 'running', 'waiting'].includes(found.runStatus)) return true;

  await cancelRun(tx, { runId, policy: 'interrupt', reason: found.reason });
  await recordChange(tx, {
    action: 'submit',
    note: {
      resourceType: 'run',
      resourceId: runId,
      organizationId: found.organizationId,
      workspaceId: found.workspaceId,
      changes: { cancel_reason: { to: found.reason } },
    },
  });
  return true;
}
