import { proxyActivities } from '@temporalio/workflow';
import type { MaintenanceActivities } from '../contracts/maintenance.ts';

// One try: the schedule brings the next pass in 20 s.
const { reconcileRuns } = proxyActivities<Pick<MaintenanceActivities, 'reconcileRuns'>>({
  startToCloseTimeout: '2 minutes',
  heartbeatTimeout: '10 seconds',
  retry: { maximumAttempts: 1 },
});

/** Schedule `maint:reconcile`: one pass over the runs whose row and workflow may have parted. */
export async function reconcile(): Promise<void> {
  await reconcileRuns();
}
