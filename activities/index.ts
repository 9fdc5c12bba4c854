import { createReconciler } from '../temporal/reconciler.ts';
import type { Temporal } from '../temporal/client.ts';
import type { AgentRunActivities } from '../workflows/contracts/agent-run.ts';
import { maintenanceActivityNames, type MaintenanceActivities } from '../workflows/contracts/maintenance.ts';
import { newId } from '../db/ids.ts';
import type { ActivityDeps } from './deps.ts';
import { createMaintenanceActivities } from './maintenance/maintenance-activities.ts';
import { createModelActivities } from './model/call-model.ts';
import { createRunActivities } from './runs/run-activities.ts';
import { asTenant } from './support/tenant.ts';
import { createToolActivities } from './tools/tool-activities.ts';

export type Activities = AgentRunActivities & MaintenanceActivities;

/** Activities that run without a tenant header, since they act on no single tenant. */
export const systemActivities: ReadonlySet<string> = new Set(maintenanceActivityNames);

/** Everything a worker executes, by the names under which histories record it. */
export function createActivities(deps: ActivityDeps, temporal: Temporal): Activities {
  const runs = createRunActivities(deps);
  const reconciler = createReconciler({
    temporal,
    db: deps.db,
    log: deps.log,
    dispatch: deps.dispatch,
    finish: ({ id, organizationId, workspaceId }, ending) =>
      asTenant({ organizationId, workspaceId, correlationId: newId() }, () => runs.finishRun({ runId: id, ...ending })),
  });

  return {
    ...runs,
    ...createModelActivities(deps),
    ...createToolActivities(deps),
    ...createMaintenanceActivities({ db: deps.db, log: deps.log, reconciler }),
  };
}
