import { proxyActivities } from '@temporalio/workflow';
import { toolkitSyncTries, type ToolkitSyncActivities, type ToolkitSyncInput } from '../contracts/toolkit-sync.ts';

const { syncToolkit } = proxyActivities<Pick<ToolkitSyncActivities, 'syncToolkit'>>({
  startToCloseTimeout: '2 minutes',
  heartbeatTimeout: '10 seconds',
  retry: { initialInterval: '2 seconds', backoffCoefficient: 3, maximumAttempts: toolkitSyncTries },
});
const { failSync } = proxyActivities<Pick<ToolkitSyncActivities, 'failSync'>>({
  startToCloseTimeout: '30 seconds',
  retry: { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '1 minute' },
});

/** Workflow `sync:<toolkit>`: the tools that an MCP server offers now, as a revision. The revision always ends. */
export async function toolkitSync(input: ToolkitSyncInput): Promise<void> {
  try {
    await syncToolkit(input);
  } catch {
    await failSync(input);
  }
}
