import { countRestart } from '../domain/runs/reconcile.ts';
import { setTimeout as delay } from 'node:timers/promises';
import { WorkflowNotFoundError } from '@temporalio/client';
import type { Logger } from 'pino';
import { pullRequestMessage } from '../db/code-review/bindings/wake.ts';
import { runStartMessage } from '../db/runs/start/conversations.ts';
import { newId } from '../db/ids.ts';
import type { Databases } from '../db/databases.ts';
import { readRestartPoint, type RestartableRun } from '../db/runs/start/restart-run.ts';
import { sweep } from '../db/transaction.ts';
import { workflowIds } from '../workflows/contracts/queues.ts';
import type { Temporal } from './client.ts';
import { sendMessage } from './messages.ts';
import { maxRestarts } from '../domain/runs/reconcile.ts';

export interface RestartDeps {
  readonly temporal: Temporal;
  readonly db: Databases;
  readonly log: Logger;
}

/** `missing`: Temporal has never had the workflow, or has lost it. A workflow that ended badly is `closed`. */
export type WorkflowState = 'open' | 'closed' | 'missing';

/** Asks Temporal for the state of one workflow. */
export async function workflowState({ client }: Temporal, workflowId: string): Promise<WorkflowState> {
  try {
    const { status } = await client.workflow.getHandle(workflowId).describe();

    return status.name === 'RUNNING' || status.name === 'PAUSED' ? 'open' : 'closed';
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return 'missing';
    throw error;
  }
}

const describesPerS = 20;

/** The same for a pass over many rows, which must not crowd out working workflows. */
export async function pacedWorkflowState(temporal: Temporal, workflowId: string): Promise<WorkflowState> {
  await delay(1000 / describesPerS);
  return workflowState(temporal, workflowId);
}

/** `later`: its last try may still succeed. `spent`: it has lost its workflow too often. */
export type Restarted = 'started' | 'later' | 'spent';

/** Starts a new workflow for a begun run that has lost its own: it continues from the run's rows, as after continue-as-new. */
export async function restartRun({ temporal, db, log }: RestartDeps, run: RestartableRun): Promise<Restarted> {
  if (run.isAtWork) return 'later';
  if (run.restarts >= maxRestarts) return 'spent';

  const point = await sweep(db, (em) => readRestartPoint(em, run.id));
  await sendMessage(temporal, { ...runStartMessage(run, newId()), args: [{ runId: run.id, ...point }] });
  await sweep(db, (em) => countRestart(em, run));
  log.warn({ run_id: run.id, status: run.status, ...point, restarts: run.restarts + 1 }, 'run goes on in a new workflow');
  return 'started';
}

/** Whether a run has begun, and so continues from its rows; a queued run is started, a cancelling one is ended. */
export function isBegun({ status }: Pick<RestartableRun, 'status'>): boolean {
  return status === 'running' || status === 'waiting';
}

/** Called when the workflow to wake does not exist: one that was lost while its run waited is started anew at once. */
export async function restartIfLost(deps: RestartDeps, run: RestartableRun | null): Promise<void> {
  if (run === null || !isBegun(run)) return;
  if (run.bindingId !== null && run.pullNumber !== null)
    return wakeReview(deps, { ...run, bindingId: run.bindingId, pullNumber: run.pullNumber });
  if ((await workflowState(deps.temporal, workflowIds.run(run.id))) === 'missing') await restartRun(deps, run);
}

/** The workflow that follows a pull request starts the workflow of its review's run. */
export async function wakeReview(
  { temporal }: Pick<RestartDeps, 'temporal'>,
  run: Pick<RestartableRun, 'organizationId' | 'workspaceId'> & { readonly bindingId: string; readonly pullNumber: number },
): Promise<void> {
  await sendMessage(temporal, pullRequestMessage({ ...run, correlationId: newId() }, run));
}
