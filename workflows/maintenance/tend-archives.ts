import { proxyActivities } from '@temporalio/workflow';
import type { MaintenanceActivities } from '../contracts/maintenance.ts';

const { tendFrames } = proxyActivities<Pick<MaintenanceActivities, 'tendFrames'>>({
  startToCloseTimeout: '50 minutes',
  heartbeatTimeout: '10 seconds',
  retry: { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '1 minute', maximumAttempts: 5 },
});

/** Schedule `maint:frames`: archives of ended runs become fewer, larger chunks, and 30 days later lose what later frames repeat. */
export async function tendArchives(): Promise<void> {
  await tendFrames();
}
