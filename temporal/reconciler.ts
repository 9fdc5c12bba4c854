import { markReconciled } from '../domain/runs/reconcile.ts';
import type { Logger } from 'pino';
import { newId } from '../db/ids.ts';
import type { Databases } from '../db/databases.ts';
import { resendMails } from '../db/outbox-sending.ts';
import { lockConversation, runStartMessage } from '../db/runs/start/conversations.ts';
import {
  endedRunsAmong,
  freeConversations,
  lateWaits,
  liveRunsAmong,
  overdueRuns,
  silentRuns,
  type FreeConversation,
  type ReconcilableRun,
  dueRuns,
} from '../db/runs/end/reconcile.ts';
import { startDelayed } from '../domain/runs/start/delayed-start.ts';
import { topmostLiveRun } from '../db/runs/start/restart-run.ts';
import { sweep, systemActor, transact, workspaceTenant } from '../db/transaction.ts';
import type { Outgoing, TenantTransaction } from '../db/tenant-transaction.ts';
import { agentRunSignals, type FinishRunInput } from '../workflows/contracts/runs/agent-run.ts';
import type { ReconcileReport } from '../workflows/contracts/upkeep/maintenance.ts';
import { runIdOf, workflowIds } from '../workflows/contracts/queues.ts';
import { isTemporalUnavailable, type Temporal } from './client.ts';
import { sendMessage } from './messages.ts';
import { isBegun, pacedWorkflowState, restartRun, wakeReview, type WorkflowState } from './restart.ts';
import { listWorkflowIds } from './visibility.ts';
import { activateNext } from '../domain/runs/start/conversations.ts';

const maxDescribes = 300;
const maxRepairs = 100;

export interface ReconcilerDeps {
  readonly temporal: Temporal;
  readonly db: Databases;
  readonly log: Logger;
  readonly dispatch: (outgoing: Outgoing) => Promise<void>;
  /** Ends a run as its workflow would have: `finishRun` in the run's own tenant. Guarded by the row: an ended run stays as it is. */
  readonly finish: (run: ReconcilableRun, outcome: Omit<FinishRunInput, 'runId'>) => Promise<unknown>;
  /** Adds what a pass has repaired to the metrics of the process, even if the pass fails later on. */
  readonly measure: (report: ReconcileReport) => void;
}

/** Brings rows and workflows together again where they have diverged. */
export interface Reconciler {
  /** One pass. Each repair is guarded by the state of its row, so passes may overlap and a second one adds no work. */
  pass(signal: AbortSignal): Promise<ReconcileReport>;
}

/** Counters of a pass. */
type Counts = { -readonly [Key in keyof ReconcileReport]: ReconcileReport[Key] };

export function createReconciler(deps: ReconcilerDeps): Reconciler {
  let openPage: Uint8Array | null = null;

  return {
    pass: async (signal) => {
      const counts: Counts = { examined: 0, started: 0, finished: 0, terminated: 0, activated: 0 };
      const from = openPage;

      // If the page is refused or the pass fails, the next one lists from the start.
      openPage = null;
      try {
        await finishAbandoned(deps, counts);
        await examineSilent(deps, counts, signal);
        openPage = await terminateLeftOver(deps, counts, from);
        await activateLines(deps, counts);
        await startDue(deps, counts);
        await finishOverdue(deps, counts);
        await wakeLate(deps, counts, signal);
        await sweep(deps.db, resendMails);
      } finally {
        deps.measure(counts);
      }
      if (counts.started + counts.finished + counts.terminated + counts.activated > 0) deps.log.warn({ ...counts }, 'reconciler repaired');

      return counts;
    },
  };
}

/** Repairs live runs whose workflow closed badly in the last two minutes. Visibility is a hint, the row decides. */
async function finishAbandoned(deps: ReconcilerDeps, counts: Counts): Promise<void> {
  const since = new Date(deps.db.clock.now().getTime() - 120_000).toISOString();
  const { ids } = await listWorkflowIds(deps.temporal, {
    query: `WorkflowType = 'agentRun' AND ExecutionStatus IN ('Failed', 'Terminated', 'TimedOut', 'Canceled') AND CloseTime > '${since}'`,
    pageSize: 1000,
  });
  const runs = await among(ids, (runIds) => sweep(deps.db, (em) => liveRunsAmong(em, runIds)));

  for (const run of runs.slice(0, maxDescribes)) await guarded(deps, run.id, () => repair(deps, counts, run));
}

/** Repairs live runs without a sign of life. */
async function examineSilent(deps: ReconcilerDeps, counts: Counts, signal: AbortSignal): Promise<void> {
  const silent = await sweep(deps.db, (em) => silentRuns(em, maxDescribes));

  for (const run of silent) {
    if (signal.aborted) return;
    await guarded(deps, run.id, () => repair(deps, counts, run));
    await sweep(deps.db, (em) => markReconciled(em, run.id));
  }
}

/**
 * Checks one run's workflow and does what its state requires; returns the state. A missing workflow is started (that of the topmost live ancestor, whose
 * workflow starts those below), a closed one ends its run.
 */
async function repair(deps: ReconcilerDeps, counts: Counts, run: ReconcilableRun): Promise<WorkflowState> {
  if (run.bindingId !== null && run.pullNumber !== null)
    return repairReview(deps, counts, { ...run, bindingId: run.bindingId, pullNumber: run.pullNumber });
  const state = await pacedWorkflowState(deps.temporal, workflowIds.run(run.id));

  counts.examined++;
  if (state === 'open') return state;
  if (state === 'missing' && run.status === 'queued' && run.source !== 'sub_agent') {
    await sendMessage(deps.temporal, runStartMessage(run, newId()));
    counts.started++;
    return state;
  }
  if (state === 'missing' && isBegun(run)) return restartTop(deps, counts, run);
  await finishClosed(deps, run);
  counts.finished++;
  return state;
}

/**
 * The workflow that follows a pull request starts the workflow of its review's run. While the following workflow is open, it has the run at work or queued;
 * otherwise it is started here, and continues the run or ends it.
 */
async function repairReview(
  deps: ReconcilerDeps,
  counts: Counts,
  run: ReconcilableRun & { readonly bindingId: string; readonly pullNumber: number },
): Promise<WorkflowState> {
  const state = await pacedWorkflowState(deps.temporal, workflowIds.review(run.bindingId, run.pullNumber));
  counts.examined++;
  if (state === 'open') return state;
  await wakeReview(deps, run);
  counts.started++;
  return state;
}

async function restartTop(deps: ReconcilerDeps, counts: Counts, run: ReconcilableRun): Promise<WorkflowState> {
  const top = await sweep(deps.db, (em) => topmostLiveRun(em, run.id));
  if (top === null) return 'closed';
  if (top.id !== run.id) return repair(deps, counts, top);

  const restarted = await restartRun(deps, top);
  if (restarted === 'started') counts.started++;
  if (restarted === 'spent') {
    await finishClosed(deps, run);
    counts.finished++;
  }
  return 'missing';
}

function finishClosed({ finish }: ReconcilerDeps, run: ReconcilableRun): Promise<unknown> {
  // A child that was never begun has lost its parent, which would have started it.
  if (run.status === 'cancelling' || (run.status === 'queued' && run.source === 'sub_agent')) return finish(run, { reason: 'cancelled' });
  return finish(run, {
    reason: 'error',
    error: { code: 'internal_error', message: 'The run was lost and could not be continued.', reason: 'workflow_closed' },
  });
}

/** Terminates open workflows whose run ended over a minute ago. Reads some pages of the open workflows; the next pass continues there. */
async function terminateLeftOver(deps: ReconcilerDeps, counts: Counts, from: Uint8Array | null): Promise<Uint8Array | null> {
  const { ids, nextPage } = await listWorkflowIds(deps.temporal, {
    query: `WorkflowType = 'agentRun' AND ExecutionStatus = 'Running'`,
    pageSize: 1000,
    from,
  });
  const ended = await among(ids, (runIds) => sweep(deps.db, (em) => endedRunsAmong(em, runIds)));

  for (const runId of ended.slice(0, maxRepairs)) {
    const id = workflowIds.run(runId);

    if ((await pacedWorkflowState(deps.temporal, id)) !== 'open') continue;
    await deps.temporal.client.workflow.getHandle(id).terminate('its run has ended');
    counts.terminated++;
  }
  return nextPage;
}

async function activateLines(deps: ReconcilerDeps, counts: Counts): Promise<void> {
  for (const conversation of await sweep(deps.db, (em) => freeConversations(em, maxRepairs))) {
    await guarded(deps, conversation.id, async () => {
      if (await activateLine(deps, conversation)) counts.activated++;
    });
  }
}

async function activateLine(deps: ReconcilerDeps, conversation: FreeConversation): Promise<boolean> {
  const activated = await changing(deps, conversation, async (tx) => {
    const locked = await lockConversation(tx, conversation.id);

    return locked && !locked.activeRunId ? activateNext(tx, conversation.id) : null;
  });

  return activated !== null;
}

/** Activates delayed runs that were due half a minute ago but have no workflow; if the workflow comes second, it finds the run activated. */
async function startDue(deps: ReconcilerDeps, counts: Counts): Promise<void> {
  for (const run of await sweep(deps.db, (em) => dueRuns(em, maxRepairs))) {
    await guarded(deps, run.id, async () => {
      const { isDone } = await changing(deps, run, (tx) => startDelayed(tx, run.id));

      if (isDone) counts.activated++;
    });
  }
}

/** One transaction in the tenant of what is repaired; dispatches what it leaves to be sent. */
async function changing<R>(
  { db, dispatch }: ReconcilerDeps,
  { organizationId, workspaceId }: { readonly organizationId: string; readonly workspaceId: string },
  work: (tx: TenantTransaction) => Promise<R>,
): Promise<R> {
  const tenant = workspaceTenant(organizationId, workspaceId);
  const { value, outgoing } = await transact(db, { tenant, actor: systemActor, correlationId: newId() }, work);

  await dispatch(outgoing);
  return value;
}

/** Ends runs whose deadline passed a minute ago: the workflow's own clock should have ended them. */
async function finishOverdue(deps: ReconcilerDeps, counts: Counts): Promise<void> {
  for (const run of await sweep(deps.db, (em) => overdueRuns(em, maxRepairs))) {
    await guarded(deps, run.id, async () => {
      await deps.finish(run, { reason: 'timeout' });
      counts.finished++;
    });
  }
}

/** Handles waits that ended a minute ago: signals the workflow to check, or ends the run that has none. */
async function wakeLate(deps: ReconcilerDeps, counts: Counts, signal: AbortSignal): Promise<void> {
  for (const run of await sweep(deps.db, (em) => lateWaits(em, maxRepairs))) {
    if (signal.aborted) return;
    await guarded(deps, run.id, async () => {
      if ((await repair(deps, counts, run)) !== 'open') return;
      await deps.temporal.client.workflow.getHandle(workflowIds.run(run.id)).signal(agentRunSignals.approvalDecided);
    });
  }
}

/** A row that can't be repaired does not keep others from being repaired; when Temporal is unavailable the pass ends. */
async function guarded({ log }: ReconcilerDeps, id: string, work: () => Promise<unknown>): Promise<void> {
  try {
    await work();
  } catch (err) {
    if (isTemporalUnavailable(err)) throw err;
    log.error({ err, id }, 'reconciler could not repair');
  }
}

/** Queries the database for those workflows that are runs; makes no query when there are none. */
async function among<Found>(ids: readonly string[], ask: (runIds: string[]) => Promise<Found[]>): Promise<Found[]> {
  const runIds = ids.map(runIdOf).filter((runId) => runId !== null);

  return runIds.length > 0 ? ask(runIds) : [];
}
