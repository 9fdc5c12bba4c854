import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { change } from '../../sql.ts';
import { dueNow, live } from './reconcile.ts';
import type { RestartableRun } from '../start/restart-run.ts';

/** Makes a live run due for the reconciler. */
export async function setDue(em: SqlEntityManager, runId: string): Promise<void> {
  await change(em, `update runs r set reconciled_at = '${dueNow}' where r.id = ? and ${live}`, [runId]);
}

/** Records that a run was examined, unless its row is locked. */
export async function setReconciled(em: SqlEntityManager, runId: string): Promise<void> {
  await change(em, `update runs set reconciled_at = now() where id = (select id from runs where id = ? for update skip locked)`, [runId]);
}

/** Counts a restart of a run, unless its count has changed since it was read. */
export async function addRestart(em: SqlEntityManager, { id, restarts }: Pick<RestartableRun, 'id' | 'restarts'>): Promise<void> {
  await change(em, 'update runs set workflow_restarts = workflow_restarts + 1 where id = ? and workflow_restarts = ?', [id, restarts]);
}
