import { continueAsNew, log, proxyActivities, workflowInfo } from '@temporalio/workflow';
import type { MaintenanceActivities } from '../contracts/upkeep/maintenance.ts';

const { dueAlertOrganizations } = proxyActivities<Pick<MaintenanceActivities, 'dueAlertOrganizations'>>({
  startToCloseTimeout: '20 seconds',
  heartbeatTimeout: '10 seconds',
  retry: { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '10 seconds', maximumAttempts: 3 },
});
const { judgeAlerts } = proxyActivities<Pick<MaintenanceActivities, 'judgeAlerts'>>({
  startToCloseTimeout: '20 seconds',
  heartbeatTimeout: '10 seconds',
  retry: { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '10 seconds', maximumAttempts: 3 },
});

const atOnce = 8;

/** Where a tick continues that has more organizations than one workflow holds. */
interface AlertTickPage {
  readonly at: string;
  readonly after: string;
}

/**
 * Schedule `maint:alert-tick`, every minute: judges the rules of each organization. One organization's rules never make another wait; one that fails three
 * times is judged at the next tick.
 */
export async function alertTick(page?: AlertTickPage): Promise<void> {
  const at = page?.at ?? workflowInfo().startTime.toISOString();
  const due = await dueAlertOrganizations({ after: page?.after ?? null });

  for (let from = 0; from < due.length; from += atOnce) {
    const judged = due.slice(from, from + atOnce).map((organization) =>
      judgeAlerts({ organization, at }).catch((error: unknown) => {
        log.warn('alert rules not judged', { organization_id: organization.split('.')[0], error: String(error) });
      }),
    );
    await Promise.all(judged);
  }
  const after = due.at(-1);
  if (after !== undefined) await continueAsNew<typeof alertTick>({ at, after });
}
