import { proxyActivities } from '@temporalio/workflow';
import type { MaintenanceActivities } from '../contracts/maintenance.ts';

const { sweepIdempotency, sweepOutbox } = proxyActivities<Pick<MaintenanceActivities, 'sweepIdempotency' | 'sweepOutbox'>>({
  startToCloseTimeout: '30 minutes',
  heartbeatTimeout: '10 seconds',
  retry: { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '1 minute', maximumAttempts: 5 },
});

/** Schedule `maint:http-sweep`: stored replies past their 24 hours, then outbox rows that were sent. Deleting twice is harmless. */
export async function httpSweep(): Promise<void> {
  await sweepIdempotency();
  await sweepOutbox();
}
