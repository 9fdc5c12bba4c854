import { cancellationSignal } from '@temporalio/activity';
import { endedBudgetAlerts } from '../../db/alerts/ended-windows.ts';
import { newId } from '../../db/ids.ts';
import { settleLostCall } from '../../domain/runs/steps/lost-calls.ts';
import { organizationTenant, sweep, systemActor, transact, workspaceTenant } from '../../db/transaction.ts';
import { endWindowAlert } from '../../domain/alerts/upkeep.ts';
import { expireLostHolds, rollEndedWindows } from '../../domain/billing/upkeep.ts';
import type { MaintenanceActivities } from '../../workflows/contracts/upkeep/maintenance.ts';
import type { ActivityDeps } from '../deps.ts';
import { transactAndSend } from '../support/as-system.ts';
import { lostCallsOfEndedRuns, type LostCallOfTenant } from '../../db/runs/steps/lost-call-queries.ts';

const aTransaction = 500;

type TendingDeps = Pick<ActivityDeps, 'db' | 'log' | 'dispatch'>;

export function createBudgetActivities(deps: TendingDeps): Pick<MaintenanceActivities, 'tendBudgets'> {
  return { tendBudgets: () => tendBudgets(deps, cancellationSignal()) };
}

/**
 * Releases the holds of lost calls, rolls the periods that have ended, ends their alerts, and settles the calls of lost workers whose runs have ended. Each
 * transaction is repeatable; interrupted work waits for the next tick. Returns the total number of all these.
 */
export async function tendBudgets(deps: TendingDeps, signal: AbortSignal): Promise<number> {
  const { db, log } = deps;
  const expired = await expireLostHolds(db, signal);
  if (expired > 0) log.info({ expired }, 'holds of lost calls released');
  const onFault = (err: unknown, workspaceId: string) => log.error({ err, workspace_id: workspaceId }, 'window not rolled');
  const rolled = await rollEndedWindows(db, { signal, onFault });
  return expired + rolled + (await endAlerts(deps, signal)) + (await settleLostCalls(deps, signal));
}

async function endAlerts({ db, log }: TendingDeps, signal: AbortSignal): Promise<number> {
  const alerts = await sweep(db, (em) => endedBudgetAlerts(em, aTransaction));
  for (const alert of alerts) {
    signal.throwIfAborted();
    const options = { tenant: organizationTenant(alert.organizationId), actor: systemActor, correlationId: newId() };
    await transact(db, options, (tx) => endWindowAlert(tx, alert)).catch((err: unknown) =>
      log.error({ err, alert_id: alert.alertId }, 'alert of an ended window not resolved'),
    );
  }
  return alerts.length;
}

/** Settles all of them, batch by batch. */
async function settleLostCalls(deps: TendingDeps, signal: AbortSignal): Promise<number> {
  let count = 0;
  for (let after: LostCallOfTenant | null = null; ;) {
    const lost: LostCallOfTenant[] = await sweep(deps.db, (em) => lostCallsOfEndedRuns({ em }, { after, limit: aTransaction }));
    await settleEach(deps, lost, signal);
    count += lost.length;
    after = lost.at(-1) ?? null;
    if (lost.length < aTransaction) return count;
  }
}

async function settleEach({ db, log, dispatch }: TendingDeps, lost: readonly LostCallOfTenant[], signal: AbortSignal): Promise<void> {
  for (const { organizationId, workspaceId, ...call } of lost) {
    signal.throwIfAborted();
    const options = { tenant: workspaceTenant(organizationId, workspaceId), actor: systemActor, correlationId: newId() };
    await transactAndSend({ db, dispatch }, options, (tx) => settleLostCall(tx, call)).catch((err: unknown) =>
      log.error({ err, run_id: call.runId }, 'call of a lost worker not settled'),
    );
  }
}
