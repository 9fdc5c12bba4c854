import { recordChange } from '../../audit/record.ts';
import { cancelRun } from './cancel-run.ts';
import type { TenantTransaction } from '../../../db/tenant-transaction.ts';
import { readStopOfRun } from '../../../db/operator/stopped-runs.ts';

/**
 * Cancels a run whose place is stopped, by what the rows say in this transaction: the newest state wins. False when the place works. A run
 * that has ended, or has been told already, stays as it is.
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
