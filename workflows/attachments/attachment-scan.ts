import { proxyActivities } from '@temporalio/workflow';
import type { AttachmentActivities, AttachmentScanInput } from '../contracts/attachments.ts';

const { scanAttachment } = proxyActivities<AttachmentActivities>({
  startToCloseTimeout: '5 minutes',
  scheduleToCloseTimeout: '24 hours',
  heartbeatTimeout: '10 seconds',
  retry: { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '1 minute' },
});

/** Workflow `scan:<attachment>`: has one file scanned. If no scanner takes it within a day, the file stays unusable and is deleted with the unlinked ones. */
export async function attachmentScan(input: AttachmentScanInput): Promise<void> {
  await scanAttachment(input);
}
