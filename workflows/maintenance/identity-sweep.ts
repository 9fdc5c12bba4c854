import { proxyActivities } from '@temporalio/workflow';
import type { MaintenanceActivities } from '../contracts/maintenance.ts';

const { sweepIdentity } = proxyActivities<Pick<MaintenanceActivities, 'sweepIdentity'>>({
  startToCloseTimeout: '30 minutes',
  heartbeatTimeout: '10 seconds',
  retry: { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '1 minute', maximumAttempts: 5 },
});

/** Schedule `maint:identity-sweep`: whatever of sign-in and OAuth is past its end. Deleting twice is harmless. */
export async function identitySweep(): Promise<void> {
  await sweepIdentity();
}
