import { proxyActivities } from '@temporalio/workflow';
import type { AttachmentActivities, AttachmentScanInput } from '../contracts/attachments.ts';

const { scanAttachment } = proxyActivities<AttachmentActivities>({
  startToCloseTimeout: '5 minutes',
  scheduleToCloseTimeout: '24 hours',
  heartbeatTimeout: '10 seconds',
  retry: { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '1 minute' },
});

/** Workflow `scan:<attachment>`: one file is looked at. When nobody looks for a day it stays unusable and goes with what is unlinked. */
export async function attachmentScan(input: AttachmentScanInput): Promise<void> {
  await scanAttachment(input);
}
