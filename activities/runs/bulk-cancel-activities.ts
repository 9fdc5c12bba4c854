import { cancelRound } from '../../domain/runs/end/bulk-cancel.ts';
import { lockBulkCancel } from '../../db/runs/end/cancellable-runs.ts';
import { recordChange } from '../../domain/audit/record.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';
import type { BulkCancelActivities } from '../../workflows/contracts/runs/bulk-cancel.ts';
import type { ActivityDeps } from '../deps.ts';
import { transactAsSystem } from '../support/as-system.ts';

const runsARound = 200;

/** The activity of `bulkCancel`: one transaction per round. */
export function createBulkCancelActivities(deps: ActivityDeps): BulkCancelActivities {
  return {
    async cancelMatching({ cancelId }) {
      const round = await transactAsSystem(deps, (tx) => cancelSome(tx, cancelId));
      if (round > 0) deps.log.info({ bulk_cancel_id: cancelId, cancelled: round }, 'runs cancelled');
      return { more: round > 0 };
    },
  };
}

/** Returns how many runs there were; 0: none is left, or the cancel is done or deleted. */
async function cancelSome(tx: TenantTransaction, cancelId: string): Promise<number> {
  const bulk = await lockBulkCancel(tx, cancelId);
  if (!bulk) return 0;
  const cancelled = await cancelRound(tx, bulk, runsARound);
  if (cancelled > 0) return cancelled;

  await recordChange(tx, {
    action: 'submit',
    note: {
      resourceType: 'bulk_cancel',
      resourceId: bulk.id,
      organizationId: bulk.organizationId,
      workspaceId: bulk.workspaceId,
      changes: { cancelled: { to: bulk.cancelled } },
    },
  });
  return 0;
}
