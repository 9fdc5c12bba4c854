import { proxyActivities } from '@temporalio/workflow';
import type { MaintenanceActivities } from '../contracts/maintenance.ts';

const { turnSigningKeys } = proxyActivities<Pick<MaintenanceActivities, 'turnSigningKeys'>>({
  startToCloseTimeout: '1 minute',
  retry: { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '1 minute', maximumAttempts: 5 },
});

/** Schedule `maint:signing-keys`: every 90 days a successor is published, a day later it signs and the old key retires. */
export async function signingKeys(): Promise<void> {
  await turnSigningKeys();
}
