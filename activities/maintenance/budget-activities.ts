import { cancellationSignal } from '@temporalio/activity';
import type { Logger } from 'pino';
import { endedBudgetAlerts } from '../../db/alerts/ended-windows.ts';
import { endedWindows, expireHolds } from '../../db/billing/upkeep.ts';
import { rollWindows } from '../../db/billing/windows.ts';
import type { Databases } from '../../db/databases.ts';
import { newId } from '../../db/ids.ts';
import { endWindowAlert } from '../../domain/alerts/end-window-alert.ts';
import { organizationTenant, sweep, systemActor, transact } from '../../db/transaction.ts';
import type { MaintenanceActivities } from '../../workflows/contracts/maintenance.ts';

const aTransaction = 500;

interface TendingDeps {
  readonly db: Databases;
  readonly log: Logger;
}

export function createBudgetActivities(deps: TendingDeps): Pick<MaintenanceActivities, 'tendBudgets'> {
  return { tendBudgets: () => tendBudgets(deps, cancellationSignal()) };
}

/**
 * Gives back what lost calls held, turns the periods that have ended, and ends their alerts. Each transaction is repeatable; what is cut off waits for the
 * next tick. Gives how many of all these there were.
 */
export async function tendBudgets({ db, log }: TendingDeps, signal: AbortSignal): Promise<number> {
  let expired = 0;
  for (let count = aTransaction; count === aTransaction; expired += count) {
    signal.throwIfAborted();
    count = await sweep(db, (em) => expireHolds(em, aTransaction));
  }
  if (expired > 0) log.info({ expired }, 'holds of lost calls given back');

  const ended = await sweep(db, (em) => endedWindows(em, aTransaction));
  for (const workspaceId of ended) {
    signal.throwIfAborted();
    await sweep(db, (em) => rollWindows(em, workspaceId)).catch((err: unknown) =>
      log.error({ err, workspace_id: workspaceId }, 'window not rolled'),
    );
  }
  const alerts = await sweep(db, (em) => endedBudgetAlerts(em, aTransaction));
  for (const alert of alerts) {
    signal.throwIfAborted();
    const options = { tenant: organizationTenant(alert.organizationId), actor: systemActor, correlationId: newId() };
    await transact(db, options, (tx) => endWindowAlert(tx, alert));
  }
  return expired + ended.length + alerts.length;
}
