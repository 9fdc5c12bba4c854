import { proxyActivities } from '@temporalio/workflow';
import type { MaintenanceActivities } from '../contracts/maintenance.ts';

const { startDuePurges, purgeWorkspaces } = proxyActivities<Pick<MaintenanceActivities, 'startDuePurges' | 'purgeWorkspaces'>>({
  startToCloseTimeout: '6 hours',
  heartbeatTimeout: '30 seconds',
  retry: { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '1 minute', maximumAttempts: 5 },
});

/** Schedule `maint:ws-purge`: organizations past their grace and archived workspaces past theirs, by what the rows say. */
export async function wsPurge(): Promise<void> {
  await startDuePurges();
  await purgeWorkspaces();
}
