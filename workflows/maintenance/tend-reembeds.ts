import { proxyActivities } from '@temporalio/workflow';
import type { MaintenanceActivities } from '../contracts/maintenance.ts';

const activities = proxyActivities<Pick<MaintenanceActivities, 'tendReembeds'>>({
  startToCloseTimeout: '30 minutes',
  heartbeatTimeout: '30 seconds',
  retry: { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '1 minute', maximumAttempts: 3 },
});

/** Schedule `maint:reembeds`, every five minutes: work on knowledge bases whose workflow is gone. */
export async function tendReembeds(): Promise<void> {
  await activities.tendReembeds();
}
