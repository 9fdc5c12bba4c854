import { defineSignal, proxyActivities, setHandler } from '@temporalio/workflow';
import { syncOpened, toolkitSyncTries, type ToolkitSyncActivities, type ToolkitSyncInput } from '../contracts/tools/toolkit-sync.ts';

const { syncToolkit } = proxyActivities<Pick<ToolkitSyncActivities, 'syncToolkit'>>({
  startToCloseTimeout: '2 minutes',
  heartbeatTimeout: '10 seconds',
  retry: { initialInterval: '2 seconds', backoffCoefficient: 3, maximumAttempts: toolkitSyncTries },
});
const { failSync } = proxyActivities<Pick<ToolkitSyncActivities, 'failSync'>>({
  startToCloseTimeout: '30 seconds',
  retry: { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '1 minute' },
});

const syncOpenedSignal = defineSignal(syncOpened);

/** Workflow `sync:<toolkit>`: stores the tools that an MCP server offers now as a revision. A revision that was opened always ends. */
export async function toolkitSync(input: ToolkitSyncInput): Promise<void> {
  let isOpen = true;
  setHandler(syncOpenedSignal, () => {
    isOpen = true;
  });

  while (isOpen) {
    isOpen = false;
    await syncToolkit(input).catch(() => failSync(input));
  }
}
