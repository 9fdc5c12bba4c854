import { proxyActivities } from '@temporalio/workflow';
import type { MaintenanceActivities } from '../contracts/maintenance.ts';

const { sealAudit } = proxyActivities<Pick<MaintenanceActivities, 'sealAudit'>>({
  startToCloseTimeout: '10 minutes',
  heartbeatTimeout: '10 seconds',
  retry: { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '30 seconds', maximumAttempts: 5 },
});

/** Schedule `maint:audit-seal`: numbers and seals the audit entries of every chain. By what is unsealed, so a missed tick costs nothing. */
export async function auditSeal(): Promise<void> {
  await sealAudit();
}
