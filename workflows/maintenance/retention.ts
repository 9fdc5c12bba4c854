import { proxyActivities } from '@temporalio/workflow';
import type { MaintenanceActivities } from '../contracts/maintenance.ts';

const { runRetention } = proxyActivities<Pick<MaintenanceActivities, 'runRetention'>>({
  startToCloseTimeout: '2 hours',
  heartbeatTimeout: '10 seconds',
  retry: { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '1 minute', maximumAttempts: 5 },
});

/** Schedule `maint:retention`: ends runs, notices, audit entries and failed logins past the days that their organization keeps them. */
export async function retention(): Promise<void> {
  await runRetention();
}
