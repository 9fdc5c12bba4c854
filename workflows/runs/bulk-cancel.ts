import { continueAsNew, proxyActivities, workflowInfo } from '@temporalio/workflow';
import type { BulkCancelActivities, BulkCancelInput } from '../contracts/runs/bulk-cancel.ts';

const { cancelMatching } = proxyActivities<BulkCancelActivities>({
  startToCloseTimeout: '1 minute',
  retry: { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '30 seconds' },
});

/**
 * Id `cancel:<id>`: continues a cancel of more runs than one request may end, round by round, until none is left that existed when it was requested. The rows
 * hold what is left to do: it may be interrupted anywhere, with unlimited tries.
 */
export async function bulkCancel(input: BulkCancelInput): Promise<void> {
  while ((await cancelMatching(input)).more) if (workflowInfo().continueAsNewSuggested) await continueAsNew<typeof bulkCancel>(input);
}
