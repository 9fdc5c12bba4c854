import { proxyActivities } from '@temporalio/workflow';
import type { MaintenanceActivities } from '../contracts/maintenance.ts';

const { sweepAlerts } = proxyActivities<Pick<MaintenanceActivities, 'sweepAlerts'>>({
  startToCloseTimeout: '30 minutes',
  heartbeatTimeout: '10 seconds',
  retry: { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '1 minute', maximumAttempts: 5 },
});

/** Schedule `maint:alert-sweep`, daily: alerts that were resolved 400 days ago. Deleting twice is harmless. */
export async function alertSweep(): Promise<void> {
  await sweepAlerts();
}
