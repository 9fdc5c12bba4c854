import { setTimeout as delay } from 'node:timers/promises';
import { WorkflowNotFoundError } from '@temporalio/client';
import type { Logger } from 'pino';
import { newId } from '../db/ids.ts';
import type { Databases } from '../db/orm.ts';
import { activateNext, lockConversation, runStartMessage } from '../db/runs/conversations.ts';
import {
  endedRunsAmong,
  freeConversations,
  liveRunsAmong,
  markReconciled,
  overdueRuns,
  silentRuns,
  type FreeConversation,
  type ReconcilableRun,
} from '../db/runs/reconcile.ts';
import { sweep, systemActor, transact, workspaceTenant } from '../db/scope.ts';
import type { Outgoing } from '../db/unit.ts';
import type { FinishRunInput } from '../workflows/contracts/agent-run.ts';
import type { ReconcileReport } from '../workflows/contracts/maintenance.ts';
import { runIdOf, workflowIds } from '../workflows/contracts/queues.ts';
import { isTemporalAway, type Temporal } from './client.ts';
import { sendMessage } from './messages.ts';
import { listWorkflowIds } from './visibility.ts';

const describesPerS = 20;
const mostDescribes = 300;
const mostRepairs = 100;

export interface ReconcilerDeps {
  readonly temporal: Temporal;
  readonly db: Databases;
  readonly log: Logger;
  readonly dispatch: (outgoing: Outgoing) => Promise<void>;
  /** Ends a run as its workflow would have: `finishRun` in the run's own tenant. Guarded by the row: an ended run stays as it is. */
  readonly finish: (run: ReconcilableRun, ending: Omit<FinishRunInput, 'runId'>) => Promise<unknown>;
}

/** Brings rows and workflows together again where they have parted. */
export interface Reconciler {
  /** One pass. Each repair is guarded by the state of its row, so passes may overlap and a second one adds no work. */
  pass(signal: AbortSignal): Promise<ReconcileReport>;
}

/** What a pass carries along: counters, and where its listing of open workflows goes on. */
type Counts = { -readonly [Key in keyof ReconcileReport]: ReconcileReport[Key] };

export function createReconciler(deps: ReconcilerDeps): Reconciler {
  let openPage: Uint8Array | null = null;

  return {
    pass: async (signal) => {
      const counts: Counts = { examined: 0, started: 0, finished: 0, terminated: 0, activated: 0 };
      const from = openPage;

      // Should the page be refused or the pass fail, the next one lists from the start.
      openPage = null;
      await finishAbandoned(deps, counts);
      await examineSilent(deps, counts, signal);
      openPage = await terminateLeftOver(deps, counts, from);
      await activateLines(deps, counts);
      await finishOverdue(deps, counts);
      if (counts.started + counts.finished + counts.terminated + counts.activated > 0) deps.log.warn({ ...counts }, 'reconciler repaired');

      return counts;
    },
  };
}

/** Workflows that closed badly in the last two minutes while their run is still live. Visibility is a hint, the row decides. */
async function finishAbandoned(deps: ReconcilerDeps, counts: Counts): Promise<void> {
  const since = new Date(Date.now() - 120_000).toISOString();
  const { ids } = await listWorkflowIds(deps.temporal, {
    query: `WorkflowType = 'agentRun' AND ExecutionStatus IN ('Failed', 'Terminated', 'TimedOut', 'Canceled') AND CloseTime > '${since}'`,
    pageSize: 1000,
  });
  const runs = await among(ids, (runIds) => sweep(deps.db, (em) => liveRunsAmong(em, runIds)));

  for (const run of runs.slice(0, mostDescribes)) await guarded(deps, run.id, () => repair(deps, counts, run));
}

/** Live runs without a sign of life: the missing workflow of a queued one is started, any other missing or closed one ends its run. */
async function examineSilent(deps: ReconcilerDeps, counts: Counts, signal: AbortSignal): Promise<void> {
  const silent = await sweep(deps.db, (em) => silentRuns(em, mostDescribes));

  for (const run of silent) {
    if (signal.aborted) return;
    await guarded(deps, run.id, () => repair(deps, counts, run));
    await sweep(deps.db, (em) => markReconciled(em, run.id));
  }
}

/** Looks at one run's workflow and does what its state asks for. */
async function repair(deps: ReconcilerDeps, counts: Counts, run: ReconcilableRun): Promise<void> {
  const state = await workflowState(deps.temporal, workflowIds.run(run.id));

  counts.examined++;
  if (state === 'open') return;
  if (state === 'missing' && run.status === 'queued') {
    await sendMessage(deps.temporal, runStartMessage(run, newId()));
    counts.started++;
    return;
  }
  await finishClosed(deps, run);
  counts.finished++;
}

function finishClosed({ finish }: ReconcilerDeps, run: ReconcilableRun): Promise<unknown> {
  if (run.status === 'cancelling') return finish(run, { reason: 'cancelled' });
  return finish(run, {
    reason: 'error',
    error: { code: 'internal_error', message: 'The run was lost and could not be continued.', reason: 'workflow_closed' },
  });
}

/** Open workflows whose run ended over a minute ago. Reads some pages of what is open and goes on there in the next pass. */
async function terminateLeftOver(deps: ReconcilerDeps, counts: Counts, from: Uint8Array | null): Promise<Uint8Array | null> {
  const { ids, nextPage } = await listWorkflowIds(deps.temporal, {
    query: `WorkflowType = 'agentRun' AND ExecutionStatus = 'Running'`,
    pageSize: 1000,
    from,
  });
  const ended = await among(ids, (runIds) => sweep(deps.db, (em) => endedRunsAmong(em, runIds)));

  for (const runId of ended.slice(0, mostRepairs)) {
    const id = workflowIds.run(runId);

    if ((await workflowState(deps.temporal, id)) !== 'open') continue;
    await deps.temporal.client.workflow.getHandle(id).terminate('its run has ended');
    counts.terminated++;
  }
  return nextPage;
}

async function activateLines(deps: ReconcilerDeps, counts: Counts): Promise<void> {
  for (const conversation of await sweep(deps.db, (em) => freeConversations(em, mostRepairs))) {
    await guarded(deps, conversation.id, async () => {
      if (await activateLine(deps, conversation)) counts.activated++;
    });
  }
}

async function activateLine({ db, dispatch }: ReconcilerDeps, conversation: FreeConversation): Promise<boolean> {
  const tenant = workspaceTenant(conversation.organizationId, conversation.workspaceId);
  const { value, outgoing } = await transact(db, { tenant, actor: systemActor, correlationId: newId() }, async (unit) => {
    const locked = await lockConversation(unit, conversation.id);

    return locked && !locked.active_run_id ? activateNext(unit, conversation.id) : null;
  });

  await dispatch(outgoing);
  return value !== null;
}

/** Deadlines that passed a minute ago: the workflow's own clock should have rung. */
async function finishOverdue(deps: ReconcilerDeps, counts: Counts): Promise<void> {
  for (const run of await sweep(deps.db, (em) => overdueRuns(em, mostRepairs))) {
    await guarded(deps, run.id, async () => {
      await deps.finish(run, { reason: 'timeout' });
      counts.finished++;
    });
  }
}

/** One row that can't be repaired keeps no other from it; with Temporal away the pass ends. */
async function guarded({ log }: ReconcilerDeps, id: string, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (err) {
    if (isTemporalAway(err)) throw err;
    log.error({ err, id }, 'reconciler could not repair');
  }
}

/** Asks Temporal for one workflow, paced: a pass over many broken runs must not crowd out the runs that work. */
async function workflowState({ client }: Temporal, workflowId: string): Promise<'open' | 'closed' | 'missing'> {
  await delay(1000 / describesPerS);
  try {
    const { status } = await client.workflow.getHandle(workflowId).describe();

    return status.name === 'RUNNING' || status.name === 'PAUSED' ? 'open' : 'closed';
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return 'missing';
    throw error;
  }
}

/** Asks the database about those workflows that are runs; nothing is asked when there are none. */
async function among<Found>(ids: readonly string[], ask: (runIds: string[]) => Promise<Found[]>): Promise<Found[]> {
  const runIds = ids.map(runIdOf).filter((runId) => runId !== null);

  return runIds.length > 0 ? ask(runIds) : [];
}
