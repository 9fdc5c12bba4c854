import { proxyActivities } from '@temporalio/workflow';
import type { MaintenanceActivities } from '../contracts/maintenance.ts';

const activities = proxyActivities<Pick<MaintenanceActivities, 'tendBudgets'>>({
  startToCloseTimeout: '1 minute',
  heartbeatTimeout: '10 seconds',
  retry: { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '10 seconds', maximumAttempts: 3 },
});

/** Id `maint:budget-holds`, every thirty seconds. */
export async function budgetHolds(): Promise<void> {
  await activities.tendBudgets();
}
