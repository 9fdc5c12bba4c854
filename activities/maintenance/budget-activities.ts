import { cancellationSignal } from '@temporalio/activity';
import type { Logger } from 'pino';
import { endedWindows, expireHolds } from '../../db/billing/upkeep.ts';
import { rollWindows } from '../../db/billing/windows.ts';
import type { Databases } from '../../db/databases.ts';
import { sweep } from '../../db/transaction.ts';
import type { MaintenanceActivities } from '../../workflows/contracts/maintenance.ts';

const aTransaction = 500;

/** Gives back what lost calls held, and turns the periods that have ended. Each transaction is repeatable; what is cut off waits for the next tick. */
export function createBudgetActivities({
  db,
  log,
}: {
  readonly db: Databases;
  readonly log: Logger;
}): Pick<MaintenanceActivities, 'tendBudgets'> {
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
      return expired + ended.length;
    },
  };
}
