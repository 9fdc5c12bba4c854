import { continueAsNew, proxyActivities, workflowInfo } from '@temporalio/workflow';
import type { BulkCancelActivities, BulkCancelInput } from '../contracts/runs/bulk-cancel.ts';

const { cancelMatching } = proxyActivities<BulkCancelActivities>({
  startToCloseTimeout: '1 minute',
  retry: { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '30 seconds' },
});

/**
 * Id `cancel:<id>`: goes on with a cancel of more runs than one request may end, round by round, until none is left that was there when it was asked for. What
 * is left to do stands in rows: it may be cut off anywhere, and no try is the last.
 */
export async function bulkCancel(input: BulkCancelInput): Promise<void> {
  while ((await cancelMatching(input)).more) if (workflowInfo().continueAsNewSuggested) await continueAsNew<typeof bulkCancel>(input);
}
