import { cancellationSignal } from '@temporalio/activity';
import type { Deleted } from '../../db/operator/purge-tables.ts';
import { duePurges } from '../../db/operator/purges.ts';
import { requestDuePurge } from '../../domain/operator/purges.ts';
import { dueWorkspaces, type DueWorkspace } from '../../db/operator/due-workspaces.ts';
import { clearTable, rehouse, removeWorkspace, tablesToClear } from '../../domain/operator/purge-workspace.ts';
import { sweep } from '../../db/transaction.ts';
import type { MaintenanceActivities } from '../../workflows/contracts/upkeep/maintenance.ts';
import type { ActivityDeps } from '../deps.ts';
import { eraseStreamsOf } from './erase-streams.ts';

const maxATick = 500;

/**
 * Starts what is due each day. In no tenant, on the sweeper's pool; each organization or workspace by itself, so that one that can't start does not hold up the
 * others.
 */
export function createDueActivities(deps: ActivityDeps): Pick<MaintenanceActivities, 'startDuePurges' | 'purgeWorkspaces'> {
  return {
    async startDuePurges() {
      const due = await sweep(deps.db, (em) => duePurges(em, maxATick));
      return eachOf(due, (id) => startOne(deps, id), deps);
    },
    async purgeWorkspaces() {
      const due = await sweep(deps.db, (em) => dueWorkspaces(em, maxATick));
      return eachOf(due, (workspace) => purgeOne(deps, workspace), deps);
    },
  };
}

async function startOne({ db, dispatch }: ActivityDeps, organizationId: string): Promise<void> {
  await dispatch(await sweep(db, (em) => requestDuePurge(em, organizationId)));
}

async function purgeOne(deps: ActivityDeps, workspace: DueWorkspace): Promise<void> {
  const { db, log } = deps;
  const tables = await sweep(db, async (em) => ((await rehouse(em, workspace)) ? tablesToClear(em) : null));
  if (tables === null) return;
  await eraseStreamsOf(deps, { organizationId: workspace.organizationId, workspaceId: workspace.id });
  for (const table of tables) await clear(db, workspace, table);
  await sweep(db, (em) => removeWorkspace(em, workspace));
  log.info({ organization_id: workspace.organizationId, workspace_id: workspace.id }, 'workspace purged');
}

async function clear(db: ActivityDeps['db'], workspace: DueWorkspace, table: string): Promise<void> {
  for (let after: string | null = null; ;) {
    const from: string | null = after;
    const batch: Deleted = await sweep(db, (em) => clearTable(em, workspace, { table, after: from }));
    if (batch.isDone) return;
    cancellationSignal().throwIfAborted();
    after = batch.after;
  }
}

async function eachOf<Due>(due: readonly Due[], work: (one: Due) => Promise<void>, { log }: ActivityDeps): Promise<number> {
  let done = 0;
  for (const one of due) {
    cancellationSignal().throwIfAborted();
    try {
      await work(one);
      done++;
    } catch (err) {
      log.error({ err, due: one }, 'due place not purged');
    }
  }
  return done;
}
