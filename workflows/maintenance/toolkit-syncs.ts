import { proxyActivities } from '@temporalio/workflow';
import type { MaintenanceActivities } from '../contracts/maintenance.ts';

const { startDueSyncs } = proxyActivities<Pick<MaintenanceActivities, 'startDueSyncs'>>({
  startToCloseTimeout: '1 minute',
  heartbeatTimeout: '15 seconds',
  retry: { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '10 seconds', maximumAttempts: 3 },
});

/** Schedule `maint:toolkit-syncs`: starts the syncs of MCP toolkits that are due. */
export async function toolkitSyncs(): Promise<void> {
  await startDueSyncs();
}
