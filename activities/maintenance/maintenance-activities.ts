import { cancellationSignal } from '@temporalio/activity';
import type { Logger } from 'pino';
import { sweepKeys } from '../../domain/http/idempotency.ts';
import type { Databases } from '../../db/databases.ts';
import { sweepOutbox } from '../../db/outbox-sending.ts';
import { sweep } from '../../db/transaction.ts';
import { sweepToolTests } from '../../domain/tools/tool-tests.ts';
import { tendFrames } from '../../domain/streams/upkeep.ts';
import type { Reconciler } from '../../temporal/reconciler.ts';
import type { MaintenanceActivities } from '../../workflows/contracts/upkeep/maintenance.ts';
import type { ActivityDeps } from '../deps.ts';
import { wakeOverdueGroups } from '../triggers/trigger-upkeep.ts';
import { sweepAll } from './sweep-all.ts';

export interface MaintenanceDeps {
  readonly db: Databases;
  readonly log: Logger;
  readonly reconciler: Reconciler;
  readonly dispatch: ActivityDeps['dispatch'];
}

type Upkeep = Pick<MaintenanceActivities, 'reconcileRuns' | 'sweepIdempotency' | 'sweepOutbox' | 'tendFrames'>;

/** Activities of the deployment itself. They run in no tenant, on the sweeper's pool, and may be repeated at any point. */
export function createMaintenanceActivities({ db, log, reconciler, dispatch }: MaintenanceDeps): Upkeep {
  return {
    reconcileRuns: async () => {
      const report = await reconciler.pass(cancellationSignal());
      await wakeOverdueGroups({ db, dispatch });
      return report;
    },
    sweepIdempotency: async () => {
      const keys = await sweepAll(log, { what: 'idempotency', deleteSome: (limit) => sweep(db, (em) => sweepKeys(em, limit)) });
      return keys + (await sweepAll(log, { what: 'tool tests', deleteSome: (limit) => sweep(db, (em) => sweepToolTests(em, limit)) }));
    },
    sweepOutbox: () => sweepAll(log, { what: 'outbox', deleteSome: (limit) => sweep(db, (em) => sweepOutbox(em, limit)) }),
    tendFrames: () => tendAll(db, log),
  };
}

/** Works round after round until nothing is due; each round is repeatable, so an interrupted one loses nothing. */
async function tendAll(db: Databases, log: Logger): Promise<number> {
  let saved = 0;

  for (let isDone = false; !isDone;) {
    cancellationSignal().throwIfAborted();
    const round = await tendFrames(db);
    saved += round.merged + round.compacted;
    isDone = round.isDone;
  }
  if (saved > 0) log.info({ saved, what: 'frames' }, 'swept');
  return saved;
}
