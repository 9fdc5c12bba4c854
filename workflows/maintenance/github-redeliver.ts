import { proxyActivities } from '@temporalio/workflow';
import type { MaintenanceActivities } from '../contracts/maintenance.ts';

const activities = proxyActivities<Pick<MaintenanceActivities, 'redeliverGithub'>>({
  startToCloseTimeout: '30 minutes',
  heartbeatTimeout: '20 seconds',
  retry: { initialInterval: '10 seconds', backoffCoefficient: 2, maximumInterval: '5 minutes', maximumAttempts: 5 },
});

/** Id `maint:github-redeliver`, every hour. */
export async function githubRedeliver(): Promise<void> {
  await activities.redeliverGithub();
}
