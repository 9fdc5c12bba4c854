import { proxyActivities } from '@temporalio/workflow';
import type { MaintenanceActivities } from '../contracts/maintenance.ts';

const { sweepAttachments } = proxyActivities<Pick<MaintenanceActivities, 'sweepAttachments'>>({
  startToCloseTimeout: '30 minutes',
  heartbeatTimeout: '10 seconds',
  retry: { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '1 minute', maximumAttempts: 5 },
});

/** Schedule `maint:attachments`: files that nothing holds, rows first, then bytes without a row. Deleting twice is harmless. */
export async function attachmentSweep(): Promise<void> {
  await sweepAttachments();
}
