import { proxyActivities } from '@temporalio/workflow';
import type { MaintenanceActivities } from '../contracts/maintenance.ts';

const activities = proxyActivities<Pick<MaintenanceActivities, 'tendTriggers'>>({
  startToCloseTimeout: '5 minutes',
  heartbeatTimeout: '10 seconds',
  retry: { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '30 seconds', maximumAttempts: 5 },
});

/** Id `maint:triggers`, every ten minutes. */
export async function tendTriggers(): Promise<void> {
  await activities.tendTriggers();
}
