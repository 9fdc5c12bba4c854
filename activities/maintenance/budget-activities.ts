import { cancellationSignal } from '@temporalio/activity';
import { endedWindows, expireHolds } from '../../db/billing/upkeep.ts';
import { rollWindows } from '../../db/billing/windows.ts';
import { newId } from '../../db/ids.ts';
import { lostCallsOfEndedRuns, settleLostCall } from '../../db/runs/lost-calls.ts';
import { sweep, systemActor, workspaceTenant } from '../../db/transaction.ts';
import type { MaintenanceActivities } from '../../workflows/contracts/maintenance.ts';
import type { ActivityDeps } from '../deps.ts';
import { transactAndSend } from '../support/as-system.ts';

const aTransaction = 500;

/** Gives back what lost calls held, turns the periods that have ended, and settles the calls of lost workers whose runs have ended. Each transaction is repeatable; what is cut off waits for the next tick. */
export function createBudgetActivities({
  db,
  log,
  dispatch,
}: Pick<ActivityDeps, 'db' | 'log' | 'dispatch'>): Pick<MaintenanceActivities, 'tendBudgets'> {
  return {
    async tendBudgets() {
      let expired = 0;
      for (let count = aTransaction; count === aTransaction; expired += count) {
        cancellationSignal().throwIfAborted();
        count = await sweep(db, (em) => expireHolds(em, aTransaction));
      }
      if (expired > 0) log.info({ expired }, 'holds of lost calls given back');

      const ended = await sweep(db, (em) => endedWindows(em, aTransaction));
      for (const workspaceId of ended) {
        cancellationSignal().throwIfAborted();
        await sweep(db, (em) => rollWindows(em, workspaceId)).catch((err: unknown) =>
          log.error({ err, workspace_id: workspaceId }, 'window not rolled'),
        );
      }

      const lost = await sweep(db, (em) => lostCallsOfEndedRuns({ em }, aTransaction));
      for (const { organizationId, workspaceId, ...call } of lost) {
        cancellationSignal().throwIfAborted();
        const options = { tenant: workspaceTenant(organizationId, workspaceId), actor: systemActor, correlationId: newId() };
        await transactAndSend({ db, dispatch }, options, (tx) => settleLostCall(tx, call)).catch((err: unknown) =>
          log.error({ err, run_id: call.runId }, 'call of a lost worker not settled'),
        );
      }
      return expired + ended.length + lost.length;
    },
  };
}
