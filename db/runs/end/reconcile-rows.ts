import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import { now } from '../../expressions.ts';
import { prepared, type ParametersOf } from '../../prepared.ts';
import { query } from '../../query.ts';
import { change } from '../../sql.ts';
import { liveStatuses } from '../live.ts';
import { dueNow } from './reconcile.ts';
import type { RestartableRun } from '../start/restart-run.ts';

type OneRun = ParametersOf<{ readonly runId: string }>;

/** The reconciler's marks are no change of a run: its `updatedAt` stays. */
function updateMarks() {
  return query.updateTable('runs').set(({ ref }) => ({ updatedAt: ref('updatedAt') }));
}

const due = prepared(({ runId }: OneRun) =>
  updateMarks()
    .set({ reconciledAt: sql.lit(dueNow) })
    .where('id', '=', runId)
    .where('status', 'in', liveStatuses),
);

/** Makes a live run due for the reconciler. */
export async function setDue(em: SqlEntityManager, runId: string): Promise<void> {
  await change(em, due({ runId }));
}

const reconciled = prepared(({ runId }: OneRun) =>
  updateMarks()
    .set({ reconciledAt: now })
    .where('id', '=', ({ selectFrom }) => selectFrom('runs as r').select('r.id').where('r.id', '=', runId).forUpdate().skipLocked()),
);

/** Records that a run was examined, unless its row is locked. */
export async function setReconciled(em: SqlEntityManager, runId: string): Promise<void> {
  await change(em, reconciled({ runId }));
}

const restarted = prepared(({ id, restarts }: ParametersOf<Pick<RestartableRun, 'id' | 'restarts'>>) =>
  updateMarks()
    .set(({ eb, lit }) => ({ workflowRestarts: eb('workflowRestarts', '+', lit(1)) }))
    .where('id', '=', id)
    .where('workflowRestarts', '=', restarts),
);

/** Counts a restart of a run, unless its count has changed since it was read. */
export async function addRestart(em: SqlEntityManager, { id, restarts }: Pick<RestartableRun, 'id' | 'restarts'>): Promise<void> {
  await change(em, restarted({ id, restarts }));
}
